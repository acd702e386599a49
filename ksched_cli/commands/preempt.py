"""`ksched preempt POD`: whom it would evict, where, and why there."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.commands.options import Alone, Manifest, PodName, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, pod_or_manifest, run_of
from ksched_cli.errors import ExitCode, UsageError


@dataclass(frozen=True, slots=True)
class PreemptOptions(StateOptions):
    """The options of `preempt`.

    all_candidates: Evaluate every node, even after enough candidates are found.
    """

    all_candidates: bool = False
    manifest: Manifest = None
    alone: Alone = False


def preempt(
    options: PreemptOptions,
    pod: PodName = "",
) -> ExitCode:
    """Whom this pod would evict, where, and why there. Nobody is evicted.

    The result shows every candidate node with the pods that would have to leave, those that may
    stay, and the disruption budgets violated. For the other nodes, it shows why evictions there do
    not help. ksched places the other pending pods too, each in its turn. Exit code 0 when the pod
    fits or would fit after evictions, 1 when it would not or the scheduler never looks at it, 3
    when a plugin's failure leaves it undecided.

    Examples:
        ksched preempt checkout
        ksched preempt shop/checkout --all
        ksched preempt checkout --change 'cordon node-3'
    """
    from ksched_cli.analysis.preempt import Preempt

    if bool(pod) == (options.manifest is not None):
        raise UsageError("preempt takes one of POD and -f FILE")
    run = run_of(options)
    question = Preempt(
        pod=pod_or_manifest(pod, options.manifest, run),
        all_candidates=options.all_candidates,
        alone=options.alone,
    )
    return show(answered(question, run), options)
