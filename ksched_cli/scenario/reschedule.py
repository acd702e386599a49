"""reschedule [--all | -l SELECTOR]: bound pods pending again, to be placed afresh."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.lookup import choose_pods, read_selector
from ksched_cli.scenario.pods import is_of_daemon_set, is_running, is_static, moved, unbound


@dataclass(frozen=True, slots=True)
class Reschedule(Change):
    """names: of pods; none where the selector chooses, "" all of the namespace ("": of all)."""

    names: tuple[str, ...]
    selector: str
    namespace: str

    @staticmethod
    def parse(arguments: Arguments) -> Reschedule:
        selector = arguments.flags.get("--selector", "")
        everything = arguments.has("--all") or arguments.has("--all-namespaces")
        if not arguments.names and not selector and not everything:
            raise arguments.error('expected "reschedule --all", -l SELECTOR or names of pods')
        read_selector(arguments.text, selector)
        namespace = "" if arguments.has("--all-namespaces") else arguments.namespace
        return Reschedule(arguments.text, arguments.names, selector, namespace)

    def apply(self, state: ClusterState) -> Changed:
        pods = [
            pod
            for pod in choose_pods(self, state, self.names, self.selector, self.namespace)
            if is_running(pod) and not is_static(pod) and not is_of_daemon_set(pod)
        ]
        return unbound(state, pods), moved(pods)
