"""The args of DefaultPreemption.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import INT32, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, invalid


@dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs(TypeMeta):
    GO: ClassVar[str] = "v1.DefaultPreemptionArgs"
    min_candidate_nodes_percentage: int | None = field(
        "minCandidateNodesPercentage", INT32, pointer=True, minimum=0, maximum=100
    )
    min_candidate_nodes_absolute: int | None = field(
        "minCandidateNodesAbsolute", INT32, pointer=True, minimum=0
    )


def validate(args: DefaultPreemptionArgs, path: str) -> list[FieldError]:
    """ValidateDefaultPreemptionArgs."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    errors: list[FieldError] = []
    if percentage is not None and not 0 <= percentage <= 100:
        errors.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute is not None and absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        same_time = "cannot be zero at the same time as"
        errors.append(invalid(percentage_path, 0, f"{same_time} minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, 0, f"{same_time} minCandidateNodesPercentage"))
    return errors


def set_defaults(args: DefaultPreemptionArgs) -> DefaultPreemptionArgs:
    """SetDefaults_DefaultPreemptionArgs."""
    return replace(
        args,
        min_candidate_nodes_percentage=or_default(args.min_candidate_nodes_percentage, 10),
        min_candidate_nodes_absolute=or_default(args.min_candidate_nodes_absolute, 100),
    )


ARGS = InTreeArgs(DefaultPreemptionArgs, set_defaults, validate)
