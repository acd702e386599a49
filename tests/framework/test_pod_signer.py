"""Which profiles sign pods, and which pods share a signature."""

from collections.abc import Hashable, Mapping
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import FilterPlugin, SignPlugin
from ksched_cli.framework.runtime import PodSigner
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import profile


class Signing(FilterPlugin, SignPlugin):
    """Signs a pod's label a; not a pod with a label b; fails over a label c."""

    name = "Signing"

    def filter(self, state: Any, pod: Any, node: Any) -> Status:
        return SUCCESS

    def sign_pod(self, pod: PodInfo) -> Mapping[str, Hashable] | None:
        if "c" in pod.labels:
            raise ValueError("c")
        return None if "b" in pod.labels else {"a": pod.labels.get("a")}


class Never(Signing):
    name = "Never"
    signs_pods = False


class Unsigning(FilterPlugin):
    name = "Unsigning"

    def filter(self, state: Any, pod: Any, node: Any) -> Status:
        return SUCCESS


def signer(*plugins: Any, minor: str = "1.36") -> tuple[PodSigner | None, list[int | None]]:
    """The signer of a profile with these plugins alone, and what it signs pods with."""
    labels = [{"a": "1"}, {"a": "1", "d": "2"}, {"a": "2"}, {"b": "1"}, {"c": "1"}]
    pods = [pod(f"p{i}", labels=of_pod) for i, of_pod in enumerate(labels)]
    run = simulation(
        cluster(node("n"), *pods), profile(*plugins), plugins, kubernetes_version=minor
    )
    pod_signer = run.frameworks["default-scheduler"].signer
    if pod_signer is None:
        return None, []
    return pod_signer, [pod_signer.sign(find(run, f"p{i}")) for i in range(len(pods))]


def test_pods_share_a_signature_where_all_that_plugins_read_is_equal() -> None:
    _, signatures = signer(Signing)
    assert signatures == [0, 0, 1, None, None]


def test_a_profile_signs_pods_only_where_each_of_its_plugins_does() -> None:
    assert signer(Signing)[0] is not None
    assert signer(Signing, Never)[0] is None
    assert signer(Signing, Unsigning)[0] is None
    assert signer(Signing, minor="1.34")[0] is None
