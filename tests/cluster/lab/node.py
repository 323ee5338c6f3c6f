"""containerd and the kubelet: the node that runs the emitted Pods."""

import json

from lab import images
from lab.processes import answers, run, start, until
from lab.settings import ADMIN, BIN, CGROUP, NODE, PKI, POD_BRIDGE, PODS, RUN

_NODE = RUN / "node"
_SOCKET = _NODE / "containerd.sock"
_CRI = "io.containerd.grpc.v1.cri"
# `restrict_oom_score_adj`: a machine that is itself a container may not lower it.
_CONTAINERD = f"""\
version = 2
root = "{_NODE}/containerd"
state = "{_NODE}/containerd-state"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.devmapper",
]
[grpc]
  address = "{_SOCKET}"
[plugins."{_CRI}"]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."{_CRI}".containerd]
    snapshotter = "overlayfs"
    [plugins."{_CRI}".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."{_CRI}".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."{_CRI}".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{_NODE}/cni"
"""
_KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "address": NODE,
    "port": 10250,
    "readOnlyPort": 0,
    "healthzBindAddress": "127.0.0.1",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": str(PKI / "ca.crt")},
    },
    "authorization": {"mode": "Webhook"},
    "tlsCertFile": str(PKI / "kubelet.crt"),
    "tlsPrivateKeyFile": str(PKI / "kubelet.key"),
    "containerRuntimeEndpoint": f"unix://{_SOCKET}",
    "cgroupDriver": "cgroupfs",
    "cgroupRoot": f"/{CGROUP}",
    "failCgroupV1": False,
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "localStorageCapacityIsolation": False,
    "makeIPTablesUtilChains": False,
    "evictionHard": {
        "memory.available": "100Mi",
        "nodefs.available": "1%",
        "imagefs.available": "1%",
    },
    "imageGCHighThresholdPercent": 100,
    "imageMinimumGCAge": "24h",
    "maxPods": 200,
    "resolvConf": "",
    "runtimeRequestTimeout": "15m",
    "syncFrequency": "5s",
}
_BRIDGE = {
    "cniVersion": "0.4.0",
    "name": "lab",
    "plugins": [
        {
            "type": "bridge",
            "bridge": POD_BRIDGE,
            "isGateway": True,
            "ipMasq": False,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "dataDir": str(_NODE / "ipam"),
                "ranges": [[{"subnet": PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
    ],
}


def up() -> None:
    (_NODE / "cni").mkdir(parents=True)
    (_NODE / "containerd.toml").write_text(_CONTAINERD)
    (_NODE / "cni/10-lab.conflist").write_text(json.dumps(_BRIDGE))
    (_NODE / "kubelet.yaml").write_text(json.dumps(_KUBELET))
    start("containerd", ["containerd", "--config", _NODE / "containerd.toml"])
    until("containerd", answers("ctr", "--address", _SOCKET, "version"))
    ctr = ("ctr", "--address", _SOCKET, "--namespace", "k8s.io", "images")
    for name in images.ARCHIVES:
        run(*ctr, "import", images.archive(name))
    for tag, pinned in images.pinned().items():
        run(*ctr, "tag", "--force", tag, pinned)
    kubelet()
    ready = ["wait", "--for=condition=Ready", "node/lab", "--timeout=1s"]
    until("the node", answers(BIN / "kubectl", "--kubeconfig", ADMIN, *ready))


def kubelet() -> None:
    folders = [f"--root-dir={_NODE / 'kubelet'}", f"--cert-dir={_NODE / 'kubelet-pki'}"]
    files = [f"--config={_NODE / 'kubelet.yaml'}", f"--kubeconfig={RUN / 'kubelet.kubeconfig'}"]
    node = ["--hostname-override=lab", f"--node-ip={NODE}"]
    start("kubelet", [BIN / "kubelet", *files, *folders, *node, "--v=2"])
