"""The API server, asked directly."""

import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from http import HTTPStatus
from typing import Any

from lab.processes import HANG
from lab.settings import API, API_PORT, PKI

Object = dict[str, Any]

# Where the kinds of the tests live; what is not here is in a group that is named in full.
_KINDS = {
    "api/v1": (
        "configmaps events limitranges namespaces pods resourcequotas secrets serviceaccounts"
    ),
    "apis/apiextensions.k8s.io/v1": "customresourcedefinitions",
    "apis/authorization.k8s.io/v1": "selfsubjectrulesreviews",
    "apis/admissionregistration.k8s.io/v1": (
        "validatingadmissionpolicies validatingadmissionpolicybindings"
    ),
    "apis/batch/v1": "cronjobs jobs",
    "apis/helm.toolkit.fluxcd.io/v2": "helmreleases",
    "apis/kustomize.toolkit.fluxcd.io/v1": "kustomizations",
    "apis/rbac.authorization.k8s.io/v1": "clusterroles rolebindings roles",
    "apis/source.toolkit.fluxcd.io/v1": (
        "buckets gitrepositories helmcharts helmrepositories ocirepositories"
    ),
}
GROUPS = {kind: group for group, kinds in _KINDS.items() for kind in kinds.split()}


class ApiError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """The administrator, or whom a bearer token belongs to. Connections are kept, one a thread."""

    def __init__(self, token: str | None = None) -> None:
        self._tls = ssl.create_default_context(cafile=PKI / "ca.crt")
        if token is None:
            self._tls.load_cert_chain(PKI / "admin.crt", PKI / "admin.key")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._kept = threading.local()

    def close(self) -> None:
        self._connection().close()

    @staticmethod
    def unreachable() -> bool:
        """There is no cluster, or this process is not in its network."""
        with socket.socket() as probe:
            return probe.connect_ex((API, API_PORT)) != 0

    def get(self, plural: str, namespace: str, name: str) -> Object:
        return self.ask("GET", path(plural, namespace, name))

    def find(self, plural: str, namespace: str, name: str) -> Object | None:
        try:
            return self.get(plural, namespace, name)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    def items(self, plural: str, namespace: str | None = None, **query: str) -> list[Object]:
        where = f"{path(plural, namespace)}?{urllib.parse.urlencode(query)}"
        items: list[Object] = self.ask("GET", where)["items"]
        return items

    def create(self, plural: str, namespace: str | None, body: Object) -> Object:
        return self.ask("POST", path(plural, namespace), body)

    def patch(
        self, plural: str, namespace: str, name: str, body: Object, manager: str = "test"
    ) -> Object:
        """`name/status` is a subresource."""
        return self.ask("PATCH", f"{path(plural, namespace, name)}?fieldManager={manager}", body)

    def apply(self, plural: str, namespace: str, body: Object, manager: str) -> Object:
        where = path(plural, namespace, body["metadata"]["name"])
        sent = f"{where}?fieldManager={manager}&force=true"
        return self.ask("PATCH", sent, body, "apply-patch+yaml")

    def json_patch(self, plural: str, namespace: str, name: str, *operations: Object) -> Object:
        return self.ask("PATCH", path(plural, namespace, name), list(operations), "json-patch+json")

    def delete(self, plural: str, namespace: str | None, name: str) -> None:
        self.ask("DELETE", f"{path(plural, namespace, name)}?propagationPolicy=Background")

    def ask(
        self,
        method: str,
        where: str,
        body: Object | list[Object] | None = None,
        content: str = "merge-patch+json",
    ) -> Object:
        """Raise `ApiError` for a refusal, `OSError` for no answer. `content` is of a patch."""
        kind = content if method == "PATCH" else "json"
        headers = {**self._headers, "Content-Type": f"application/{kind}"}
        sent = json.dumps(body) if body is not None else None
        for last in (False, True):
            connection = self._connection()
            try:
                connection.request(method, f"/{where}", sent, headers)
                response = connection.getresponse()
                text = response.read().decode()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last:
                    raise OSError(f"no response to {method} {where}: {error!r}") from error
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise ApiError(response.status, text)
        found: Object = json.loads(text)
        return found

    def _connection(self) -> http.client.HTTPSConnection:
        kept: http.client.HTTPSConnection | None = getattr(self._kept, "connection", None)
        if kept is None:
            kept = self._kept.connection = http.client.HTTPSConnection(
                API, API_PORT, timeout=HANG, context=self._tls
            )
        return kept


def path(plural: str, namespace: str | None = None, name: str | None = None) -> str:
    """`plural` may be `group/version/plural`."""
    group, _, short = plural.rpartition("/")
    root = f"apis/{group}" if group else GROUPS[plural]
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{short}" + (f"/{name}" if name else "")
