"""The args of VolumeBinding.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import INT64, ListOf, StructOf, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, invalid
from ksched_cli.plugins.helper.function_shape import UtilizationShapePoint


@dataclass(frozen=True, slots=True)
class VolumeBindingArgs(TypeMeta):
    GO: ClassVar[str] = "v1.VolumeBindingArgs"
    bind_timeout_seconds: int | None = field("bindTimeoutSeconds", INT64, pointer=True, minimum=0)
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        "shape", ListOf(StructOf(UtilizationShapePoint))
    )


def validate(args: VolumeBindingArgs, path: str) -> list[FieldError]:
    """ValidateVolumeBindingArgs, with StorageCapacityScoring off as it is by default."""
    errors: list[FieldError] = []
    timeout = args.bind_timeout_seconds
    if timeout is not None and timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), timeout, detail))
    if args.shape is not None:
        shape = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        detail = (
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        )
        errors.append(invalid(child(path, "shape"), shape, detail))
    return errors


def set_defaults(args: VolumeBindingArgs) -> VolumeBindingArgs:
    """SetDefaults_VolumeBindingArgs."""
    return replace(args, bind_timeout_seconds=or_default(args.bind_timeout_seconds, 600))


ARGS = InTreeArgs(VolumeBindingArgs, set_defaults, validate)
