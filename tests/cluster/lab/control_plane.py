"""etcd and Kubernetes' own control plane."""

from lab.processes import answers, start, until
from lab.settings import ADMIN, API, API_PORT, BIN, NODE, PKI, RUN, SERVICES

_ETCD, _PEER = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
_READY = answers(BIN / "kubectl", "--kubeconfig", ADMIN, "get", "--raw", "/readyz")


def up() -> None:
    etcd()
    api_server()
    controller_manager()
    scheduler()
    account = ("get", "serviceaccount", "default", "--namespace=default")
    until("the default service account", answers(BIN / "kubectl", "--kubeconfig", ADMIN, *account))


def etcd() -> None:
    """Start etcd; its data need not survive the machine, so it never waits for the disk."""
    flags = {
        "name": "lab",
        "data-dir": RUN / "etcd",
        "listen-client-urls": _ETCD,
        "advertise-client-urls": _ETCD,
        "listen-peer-urls": _PEER,
        "initial-advertise-peer-urls": _PEER,
        "initial-cluster": f"lab={_PEER}",
    }
    start("etcd", ["etcd", "--unsafe-no-fsync", *_flags(flags)])
    until("etcd", answers("curl", "-fsS", f"{_ETCD}/health"))


def api_server() -> None:
    flags = {
        "etcd-servers": _ETCD,
        "bind-address": "0.0.0.0",  # noqa: S104 - within the lab's own network
        "secure-port": API_PORT,
        "advertise-address": NODE,
        "endpoint-reconciler-type": "none",
        "authorization-mode": "Node,RBAC",
        "anonymous-auth": "false",
        "client-ca-file": PKI / "ca.crt",
        "tls-cert-file": PKI / "apiserver.crt",
        "tls-private-key-file": PKI / "apiserver.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": PKI / "accounts.pub",
        "service-account-signing-key-file": PKI / "accounts.key",
        "service-cluster-ip-range": SERVICES,
        "kubelet-certificate-authority": PKI / "ca.crt",
        "kubelet-client-certificate": PKI / "admin.crt",
        "kubelet-client-key": PKI / "admin.key",
        "kubelet-preferred-address-types": "InternalIP",
        "allow-privileged": "true",
        "audit-policy-file": RUN / "audit.yaml",
        "audit-log-path": RUN / "audit.log",
    }
    _audit()
    start("kube-apiserver", [BIN / "kube-apiserver", *_flags(flags)])
    until("the API server", _READY)


def controller_manager() -> None:
    flags = {
        "use-service-account-credentials": "true",
        "service-account-private-key-file": PKI / "accounts.key",
        "root-ca-file": PKI / "ca.crt",
        # On a busy machine the only node reports late; its Pods are not to be evicted for that.
        "node-monitor-grace-period": "15m",
    }
    _client("controller-manager", flags)


def scheduler() -> None:
    _client("scheduler", {})


def _client(name: str, more: dict[str, object]) -> None:
    """Start a component that asks the API server."""
    own = RUN / f"{name}.kubeconfig"
    flags = {"kubeconfig": own, "authentication-kubeconfig": own, "authorization-kubeconfig": own}
    alone = {"bind-address": API, "leader-elect": "false"}
    start(f"kube-{name}", [BIN / f"kube-{name}", *_flags({**flags, **alone, **more})])


def _audit() -> None:
    """Have the API server note every request of a service account that a policy's Jobs run as."""
    quiet = '{level: None, userGroups: ["system:serviceaccounts:kube-system"]}'
    level = "level: Metadata, omitStages: [RequestReceived]"
    noted = f'{{{level}, userGroups: ["system:serviceaccounts"]}}'
    rules = "".join(f"- {rule}\n" for rule in (quiet, noted, "{level: None}"))
    (RUN / "audit.yaml").write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n{rules}")


def _flags(flags: dict[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]
