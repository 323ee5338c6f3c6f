"""Certificates and kubeconfigs: one authority, one client certificate for each component."""

import base64
import json
from pathlib import Path

from lab.processes import run
from lab.settings import API, API_PORT, API_SERVICE, NODE, PKI, RUN

_SERVED = (
    f"IP:{API},IP:{NODE},IP:{API_SERVICE},DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc"
)
_CERTIFICATES = {
    "apiserver": ("/CN=kube-apiserver", f"subjectAltName={_SERVED}"),
    "admin": ("/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth"),
    "controller-manager": ("/CN=system:kube-controller-manager", "extendedKeyUsage=clientAuth"),
    "scheduler": ("/CN=system:kube-scheduler", "extendedKeyUsage=clientAuth"),
    "kubelet": (
        "/O=system:nodes/CN=system:node:lab",
        f"extendedKeyUsage=clientAuth,serverAuth\nsubjectAltName=IP:{NODE},DNS:lab",
    ),
}


def make() -> None:
    PKI.mkdir(parents=True, exist_ok=True)
    authority = ["-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=lab"]
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *authority)
    _openssl("genrsa", "-out", "accounts.key", "2048")
    _openssl("rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
    for name, (subject, extensions) in _CERTIFICATES.items():
        _certificate(name, subject, extensions)
        (RUN / f"{name}.kubeconfig").write_text(json.dumps(_kubeconfig(name)))


def _certificate(name: str, subject: str, extensions: str) -> None:
    (PKI / f"{name}.ext").write_text(extensions)
    request = ["-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject]
    _openssl("req", "-newkey", "rsa:2048", "-nodes", *request)
    signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30"]
    files = ["-in", f"{name}.csr", "-out", f"{name}.crt", "-extfile", f"{name}.ext"]
    _openssl("x509", "-req", *signer, *files)


def _openssl(*arguments: str) -> None:
    """Run openssl as of yesterday: a client whose clock is behind takes the certificates, too."""
    run("faketime", "-f", "-1d", "openssl", *arguments, cwd=PKI)


def _kubeconfig(name: str) -> dict[str, object]:
    server = {
        "server": f"https://{API}:{API_PORT}",
        "certificate-authority-data": _text(PKI / "ca.crt"),
    }
    user = {
        "client-certificate-data": _text(PKI / f"{name}.crt"),
        "client-key-data": _text(PKI / f"{name}.key"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": server}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": name}}],
        "current-context": "lab",
    }


def _text(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
