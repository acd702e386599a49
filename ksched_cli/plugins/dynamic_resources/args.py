"""The args of DynamicResources.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ksched_cli.config.go_types import DURATION, field, or_default
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, forbidden, invalid
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.versions import Release

_FILTER_TIMEOUT = 10 * 10**9  # nanoseconds
_BINDING_TIMEOUT = 600 * 10**9
_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs(TypeMeta):
    GO: ClassVar[str] = "v1.DynamicResourcesArgs"
    filter_timeout: int | None = field("filterTimeout", DURATION, pointer=True)
    binding_timeout: int | None = field("bindingTimeout", DURATION, pointer=True)


def _has_binding_conditions(release: Release) -> bool:
    return release.enabled("DRADeviceBindingConditions") and release.enabled(
        "DRAResourceClaimDeviceStatus"
    )


def _validate(release: Release, args: DynamicResourcesArgs, path: str) -> list[FieldError]:
    """ValidateDynamicResourcesArgs, with DRASchedulerFilterTimeout on as it is by default."""
    errors: list[FieldError] = []
    if args.filter_timeout is not None and args.filter_timeout < 0:
        timeout = duration_text(args.filter_timeout)
        errors.append(invalid(child(path, "filterTimeout"), timeout, "must be zero or positive"))
    if args.binding_timeout is None:
        return errors
    where = child(path, "bindingTimeout")
    if not _has_binding_conditions(release):
        gates = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus"
        errors.append(forbidden(where, f"{gates} feature gate is disabled"))
    elif args.binding_timeout < _SECOND:
        timeout = duration_text(args.binding_timeout)
        errors.append(invalid(where, timeout, "must be at least 1 second"))
    return errors


def _set_defaults(release: Release, args: DynamicResourcesArgs) -> DynamicResourcesArgs:
    """SetDefaults_DynamicResourcesArgs."""
    binding_timeout = args.binding_timeout
    if _has_binding_conditions(release) and "v1.DynamicResourcesArgs.bindingTimeout" not in (
        release.rules.absent_fields
    ):
        binding_timeout = or_default(binding_timeout, _BINDING_TIMEOUT)
    filter_timeout = or_default(args.filter_timeout, _FILTER_TIMEOUT)
    return replace(args, filter_timeout=filter_timeout, binding_timeout=binding_timeout)


def args_of(release: Release) -> InTreeArgs[DynamicResourcesArgs]:
    """The args as a release has them."""
    return InTreeArgs(
        DynamicResourcesArgs, partial(_set_defaults, release), partial(_validate, release)
    )
