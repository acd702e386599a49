"""The args of InterPodAffinity.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import BOOL, INT32, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, invalid


@dataclass(frozen=True, slots=True)
class InterPodAffinityArgs(TypeMeta):
    GO: ClassVar[str] = "v1.InterPodAffinityArgs"
    hard_pod_affinity_weight: int | None = field(
        "hardPodAffinityWeight", INT32, pointer=True, minimum=0, maximum=100
    )
    ignore_preferred_terms_of_existing_pods: bool = field(
        "ignorePreferredTermsOfExistingPods", BOOL, omit=False
    )


def validate(args: InterPodAffinityArgs, path: str) -> list[FieldError]:
    """ValidateInterPodAffinityArgs."""
    weight = args.hard_pod_affinity_weight
    if weight is None or 0 <= weight <= 100:
        return []
    return [invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]


def set_defaults(args: InterPodAffinityArgs) -> InterPodAffinityArgs:
    """SetDefaults_InterPodAffinityArgs."""
    return replace(args, hard_pod_affinity_weight=or_default(args.hard_pod_affinity_weight, 1))


ARGS = InTreeArgs(InterPodAffinityArgs, set_defaults, validate)
