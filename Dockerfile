# The function as an image: no shell is needed, no network, no writable root, any user. And the same
# with the service (`--target server`), which besides has Git, and wants one volume to write to.
# What it is made from is pinned: the base in versions.toml, the packages by hash in requirements/.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
# Where a proxy with its own certificate stands between pip and its index: its bundle, mounted at
# build time.
ARG PIP_CERT=
# Bytecode is compiled below, once, in an order of sets that is the same every time.
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
WORKDIR /source
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/krm-windows
COPY requirements requirements
RUN /opt/build/bin/pip install --quiet --require-hashes --no-deps --only-binary :all: \
    -r requirements/build.txt \
 && /opt/build/bin/pip --python /opt/krm-windows/bin/python3 install --quiet --no-compile \
    --require-hashes --no-deps --only-binary :all: -r requirements/image.txt
# The time that is written into what is built, so that the same sources give the same bytes.
ARG SOURCE_DATE_EPOCH=1580601600
COPY pyproject.toml README.md LICENSE ./
COPY krm_windows krm_windows
COPY .ci/supply .ci/supply
# What `krm-windows --version` says: the commit, where it is known that nothing else is in the sources.
ARG COMMIT=
RUN [ -z "$COMMIT" ] || sed -i "s/\\\$Format:%H\\\$/$COMMIT/" krm_windows/__init__.py
RUN /opt/build/bin/pip wheel --quiet --no-index --no-deps --no-build-isolation \
    --wheel-dir /wheels . \
 && /opt/build/bin/pip --python /opt/krm-windows/bin/python3 install --quiet --no-compile \
    --no-index --no-deps /wheels/*.whl \
 && /opt/krm-windows/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
    /opt/krm-windows/lib \
 && PYTHONPATH=.ci /opt/build/bin/python3 -m supply.sbom --system / \
    --site /opt/krm-windows/lib/python3.*/site-packages /opt/krm-windows/share/krm-windows.cdx.json

# What the extra `server` adds: each file that is in no layer of the function's image.
FROM build AS addition
ARG PIP_CERT=
WORKDIR /
RUN find opt/krm-windows ! -type d | sort > function.list \
 && /opt/build/bin/pip --python /opt/krm-windows/bin/python3 install --quiet --no-compile \
    --require-hashes --no-deps --only-binary :all: -r source/requirements/server.txt \
 && /opt/krm-windows/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
    /opt/krm-windows/lib \
 && find opt/krm-windows ! -type d | sort | comm -13 function.list - > addition.list \
 && mkdir addition && tar --create --files-from addition.list | tar --extract --directory addition

FROM ${BASE} AS function
# First, since what it copies has the time in it (in the SBOM): a layer that was kept from a build
# with another time is not taken.
COPY --from=build /opt/krm-windows /opt/krm-windows
ARG BASE
ARG CREATED=2020-02-02T00:00:00Z
ARG COMMIT=
LABEL org.opencontainers.image.title="krm-windows" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.description="Reconciliation windows for GitOps, as a KRM function" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/krm-windows/krm-windows" \
      org.opencontainers.image.documentation="https://github.com/krm-windows/krm-windows/tree/main/docs" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/krm-windows/krm-windows/v0.1.0/README.md" \
      io.artifacthub.package.license="Apache-2.0" \
      io.artifacthub.package.category="integration-delivery" \
      io.artifacthub.package.keywords="flux,gitops,krm,kustomize,kpt,change window,maintenance window" \
      org.opencontainers.image.base.name="${BASE}" \
      dev.krm-windows.sbom="/opt/krm-windows/share/krm-windows.cdx.json"
ENV PYTHONDONTWRITEBYTECODE=1
# `python3` is the one that has the package: with `actuator.program: Image` Jobs run a module of it.
ENV PATH=/opt/krm-windows/bin:$PATH
USER 65534:65534
WORKDIR /
ENTRYPOINT ["/opt/krm-windows/bin/krm-windows"]

# Debian's Git, of the day: its security fixes come under new versions, and the old ones go. The
# bill of materials says which it is.
FROM function AS system
USER 0:0
RUN apt-get update --quiet=2 \
 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends \
    git openssh-client >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/ldconfig/* /var/cache/debconf/* \
    /var/log/*
USER 65534:65534

FROM system AS bill
USER 0:0
COPY --from=addition /opt/build /opt/build
COPY --from=addition /opt/krm-windows /opt/krm-windows
COPY --from=addition /source/.ci/supply /source/supply
ARG SOURCE_DATE_EPOCH=1580601600
RUN PYTHONPATH=/source /opt/build/bin/python3 -m supply.sbom --system / --extra server \
    --site /opt/krm-windows/lib/python3.*/site-packages /krm-windows.cdx.json

FROM system AS server
COPY --from=addition /addition /
COPY --from=bill /krm-windows.cdx.json /opt/krm-windows/share/krm-windows.cdx.json
LABEL org.opencontainers.image.title="krm-windows-server" \
      org.opencontainers.image.description="Reconciliation windows for GitOps, over HTTP"
EXPOSE 8080
ENTRYPOINT ["/opt/krm-windows/bin/krm-windows", "serve"]

# What a build without a target makes.
FROM function
