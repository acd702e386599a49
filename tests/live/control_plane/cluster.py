"""The processes of a control plane: started on free ports, ended by their own ids."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import urllib3
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.live.control_plane.api import Api, wait

LOOPBACK = "127.0.0.1"
CONTROLLERS = (
    "persistentvolume-binder-controller",
    "disruption-controller",
    "resourceclaim-controller",
    "replicaset-controller",
    "deployment-controller",
)
# Nodes are ready as they are made: there is no node lifecycle controller to take the taint off.
NO_ADMISSION = ("ServiceAccount", "TaintNodesByCondition")


class ProcessError(Exception):
    """A process of the control plane ended by itself."""


class ControlPlane:
    """etcd and an API server, from `with` on; other processes as they are started.

    binaries: by name; folder: for data, certificates and logs
    """

    def __init__(self, binaries: Mapping[str, Path], folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.kubeconfig = folder / "kubeconfig"
        self.port = free_port()
        self.token = secrets.token_hex(16)
        self.api = Api(f"https://{LOOPBACK}:{self.port}", self.token)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> ControlPlane:
        try:
            self._start_etcd_and_api_server()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def start(self, name: str, *options: str, command: Sequence[str] = ()) -> None:
        """command: instead of a binary of the name"""
        log = (self.folder / f"{name}.log").open("wb")
        arguments = [*(command or [str(self.binaries[name])]), *options]
        self._processes[name] = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
        )

    def check(self) -> None:
        """Raises ProcessError."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                raise ProcessError(f"{name} ended with {process.returncode}:\n{log[-3000:]}")

    def stop(self, name: str) -> None:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """Ends it at once."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def end(self) -> None:
        for name in reversed(list(self._processes)):
            self.stop(name)

    # -- what is started --------------------------------------------------------------------------

    def _start_etcd_and_api_server(self) -> None:
        client, peer = (f"http://{LOOPBACK}:{free_port()}" for _ in range(2))
        self.start(
            "etcd",
            "--data-dir=etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
        self._write_credentials()
        self.start(
            "kube-apiserver",
            f"--etcd-servers={client}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={self.port}",
            "--cert-dir=certificates",
            "--token-auth-file=tokens.csv",
            "--authorization-mode=AlwaysAllow",
            "--service-account-issuer=https://ksched.test",
            "--service-account-key-file=key.pem",
            "--service-account-signing-key-file=key.pem",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={','.join(NO_ADMISSION)}",
        )
        wait("the API server", self._is_ready, 600)

    def _is_ready(self) -> bool:
        self.check()
        try:
            self.api.call("GET", "readyz")
            self.api.call("GET", "api/v1/namespaces/default")
        except Exception as error:
            if isinstance(error, ProcessError):
                raise
            return False
        return True

    def _write_credentials(self) -> None:
        """For loopback only, and for as long as the folder is there."""
        (self.folder / "tokens.csv").write_text(f"{self.token},admin,admin,system:masters\n")
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        (self.folder / "key.pem").write_bytes(pem)
        cluster = {"server": self.api.server, "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "live", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "live", "context": {"cluster": "live", "user": "admin"}}],
            "current-context": "live",
        }
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def start_controllers(self) -> None:
        self.start(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=500",
        )

    def start_kwok(self) -> None:
        """Runs the pods of all nodes, and lets go those that are deleted."""
        self.start("kwok", f"--kubeconfig={self.kubeconfig}", "--manage-all-nodes=true")

    def start_scheduler(self, profiles: Mapping[str, Any], verbosity: int = 3) -> Path:
        """profiles: fields of its configuration; verbosity: of its log. Returns the path of the
        configuration."""
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 500, "burst": 500},
            "leaderElection": {"leaderElect": False},
            **profiles,
        }
        path = self.folder / "scheduler.yaml"
        path.write_text(yaml.safe_dump(config))
        self.start("kube-scheduler", f"--config={path}", "--secure-port=0", f"-v={verbosity}")
        return path

    def record(self) -> Path:
        """Starts `ksched record`; what happens from now on will be in the timeline."""
        path = self.folder / "recorded.jsonl"
        for file in self.folder.glob("recorded*"):
            file.unlink()  # of an earlier run
        command = [sys.executable, "-m", "ksched_cli", "record", str(path)]
        self.start("recorder", "--kubeconfig", str(self.kubeconfig), command=command)
        wait("the recorder", path.exists)
        return path

    # -- what is there ----------------------------------------------------------------------------

    def snapshot(self, path: Path, *options: str) -> Path:
        """`ksched snapshot`. Raises subprocess.CalledProcessError."""
        command = [sys.executable, "-m", "ksched_cli", "snapshot", str(path), *options]
        command += ["--kubeconfig", str(self.kubeconfig)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return path


def free_port() -> int:
    with socket.socket() as server:
        server.bind((LOOPBACK, 0))
        port: int = server.getsockname()[1]
        return port


def is_serving(url: str) -> bool:
    try:
        urllib3.request("GET", url, retries=False, timeout=1.0)
    except urllib3.exceptions.HTTPError:
        return False
    return True
