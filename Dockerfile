# The function as an image: no shell is needed, no network, no writable root, any user.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
# Where a proxy with its own certificate stands between pip and its index: its bundle, mounted at build time.
ARG PIP_CERT=
WORKDIR /source
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/krm-windows
COPY constraints.txt ./
COPY pyproject.toml README.md LICENSE ./
COPY krm_windows krm_windows
RUN PIP_CONSTRAINT=constraints.txt /opt/build/bin/pip wheel --quiet --no-cache-dir --wheel-dir /wheels . \
 && /opt/build/bin/pip --python /opt/krm-windows/bin/python3 install --quiet --no-index --no-deps --no-compile /wheels/*.whl \
 && /opt/krm-windows/bin/python3 -m compileall -q --invalidation-mode unchecked-hash /opt/krm-windows/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="krm-windows" \
      org.opencontainers.image.description="Reconciliation windows for GitOps, as a KRM function" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/krm-windows /opt/krm-windows
ENV PYTHONDONTWRITEBYTECODE=1
USER 65534:65534
WORKDIR /
ENTRYPOINT ["/opt/krm-windows/bin/krm-windows"]
