"""The args of VolumeBinding.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ksched_cli.config.go_types import INT64, ListOf, StructOf, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, invalid
from ksched_cli.kube.versions import Release
from ksched_cli.plugins.helper.function_shape import (
    MAX_SCORE,
    UtilizationShapePoint,
    shape_errors,
)


@dataclass(frozen=True, slots=True)
class VolumeBindingArgs(TypeMeta):
    GO: ClassVar[str] = "v1.VolumeBindingArgs"
    bind_timeout_seconds: int | None = field("bindTimeoutSeconds", INT64, pointer=True, minimum=0)
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        "shape", ListOf(StructOf(UtilizationShapePoint))
    )


GATE = "StorageCapacityScoring"
# More free capacity wins.
DEFAULT_SHAPE = (UtilizationShapePoint(0, MAX_SCORE), UtilizationShapePoint(100, 0))


def _validate(args: VolumeBindingArgs, path: str, scores: bool) -> list[FieldError]:
    """ValidateVolumeBindingArgsWithOptions."""
    errors: list[FieldError] = []
    timeout = args.bind_timeout_seconds
    if timeout is not None and timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), timeout, detail))
    if scores:
        errors += shape_errors(args.shape or (), child(path, "shape"))
    elif args.shape is not None:
        shape = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        detail = f"unexpected field `shape`, remove it or turn on the feature gate {GATE}"
        errors.append(invalid(child(path, "shape"), shape, detail))
    return errors


def _with_defaults(args: VolumeBindingArgs, scores: bool) -> VolumeBindingArgs:
    """SetDefaults_VolumeBindingArgs."""
    shape = args.shape or DEFAULT_SHAPE if scores else args.shape
    timeout = or_default(args.bind_timeout_seconds, 600)
    return replace(args, bind_timeout_seconds=timeout, shape=shape)


def args_of(release: Release) -> InTreeArgs[VolumeBindingArgs]:
    """The args as a release has them: with a shape where volumes are scored."""
    scores = release.enabled(GATE)
    return InTreeArgs(
        VolumeBindingArgs, partial(_with_defaults, scores=scores), partial(_validate, scores=scores)
    )
