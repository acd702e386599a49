"""The args of DynamicResources.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import DURATION, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, invalid
from ksched_cli.kube.formatting import duration_text

_DEFAULT_TIMEOUT = 10 * 10**9  # nanoseconds


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs(TypeMeta):
    GO: ClassVar[str] = "v1.DynamicResourcesArgs"
    filter_timeout: int | None = field("filterTimeout", DURATION, pointer=True)


def validate(args: DynamicResourcesArgs, path: str) -> list[FieldError]:
    """ValidateDynamicResourcesArgs, with DRASchedulerFilterTimeout on as it is by default."""
    if args.filter_timeout is None or args.filter_timeout >= 0:
        return []
    timeout = duration_text(args.filter_timeout)
    return [invalid(child(path, "filterTimeout"), timeout, "must be zero or positive")]


def set_defaults(args: DynamicResourcesArgs) -> DynamicResourcesArgs:
    """SetDefaults_DynamicResourcesArgs."""
    return replace(args, filter_timeout=or_default(args.filter_timeout, _DEFAULT_TIMEOUT))


ARGS = InTreeArgs(DynamicResourcesArgs, set_defaults, validate)
