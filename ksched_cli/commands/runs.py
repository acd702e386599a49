"""From options to a Run, and what a command says about a Run that it opened.

What loads NumPy is imported where it is used: `validate` and `config` come here too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import note, set_release, warn
from ksched_cli.errors import NoStateError, UsageError
from ksched_cli.kube.file_paths import check_standard_input
from ksched_cli.kube.versions import inferred_release, release_of

if TYPE_CHECKING:
    from ksched_cli.analysis.question import Observer, PodOrManifest, Question
    from ksched_cli.answers import Answer
    from ksched_cli.config.allowed_plugins import AllowedPlugin
    from ksched_cli.framework.registry import Registry
    from ksched_cli.run.axes import Field
    from ksched_cli.run.inputs import Inputs
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run

A = TypeVar("A", bound="Answer")
A_contra = TypeVar("A_contra", bound="Answer", contravariant=True)

# -- options → Run --------------------------------------------------------------------------------


class HasGiven(Protocol):
    """Options of a command that takes some of a Run's."""

    @property
    def given(self) -> Mapping[str, Any]: ...


def run_of(options: HasGiven, *, needs_state: bool = True, **fields: Any) -> Run:
    """Return the Run that the options describe, with these fields in place of what they say. Raises
    UsageError, also if no state is there and one is needed."""
    from msgspec.structs import replace

    from ksched_cli.run.axes import fields_of
    from ksched_cli.run.run import FIELDS, Run

    given = options.given

    def value_of(field: Field) -> Any:
        """Return the field's value of what its options say."""
        values = [
            (option, given[field.parameter(option)])
            for option in field.options
            if field.parameter(option) in given
        ]
        if field.nested is not None:
            # Where not all namespaces may be listed, -n names the one to read.
            own = {each.name: given.get(each.name, "") for each in fields_of(field.nested)}
            is_named = given["kubeconfig"] or given["context"]
            return field.nested(**own) if values[0][1] or is_named else None
        if isinstance(field.default, tuple):
            return tuple(each for option, texts in values for each in option.read(texts or ()))
        ((_, value),) = values
        if value is None:
            return field.default
        if isinstance(field.default, bool):
            return value is not field.is_on
        return field.default if value == field.default else value  # 0.0 is written, 0 is not

    takes = [each for each in FIELDS if each.options and each.parameter(each.options[0]) in given]
    run = Run(**{field.name: value_of(field) for field in takes})
    if "live" in given:
        if run.live and run.states:
            option = next(each for each in ("live", "context", "kubeconfig") if given[each])
            raise UsageError(f"--{option} cannot be combined with --state")
        if needs_state and not (run.live or run.states):
            run = with_default_state(run)
    if run.tie_break == "random" and run.seed is None:
        # A draw of one's own, so that what is printed can be repeated.
        run = replace(run, seed=SystemRandom().randrange(2**31))
    return replace(run, **fields)


def in_project(run: Run, file: str) -> Run:
    """Return the Run with what the project file of a file says where the Run leaves it open. Raises
    InputError for a project file that is not valid."""
    from msgspec.structs import replace

    from ksched_cli.run.axes import fields_of
    from ksched_cli.run.project import Projects
    from ksched_cli.run.run import ReleaseSettings

    stated = Projects().of(file).settings
    names = [field.name for field in fields_of(ReleaseSettings)]
    return replace(run, **{name: getattr(run, name) or getattr(stated, name) for name in names})


def refuses_plugins(options: CommonOptions, file: str) -> bool:
    """Return whether plugins that only the file names may not be imported. Raises InputError."""
    from ksched_cli.run.project import Projects

    return options.no_plugins or Projects().of(file).settings.no_plugins


def allowed_in_project(values: Sequence[str] | None, file: str) -> tuple[AllowedPlugin, ...]:
    """Return the plugins of every --allow-plugins, and those that the project file of a file
    allows. Raises KschedError."""
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.run.project import Projects

    return (*Projects().of(file).allowed, *read_allowed(values or ()))


def with_default_state(run: Run) -> Run:
    """Return the Run with the file that is read without --state, and says which unless the
    environment names it; without such a file, with the cluster that the kubeconfig names. Raises
    UsageError where there is neither."""
    from msgspec.structs import replace

    from ksched_cli.cluster.loading.load import STATE_VARIABLE, default_state_path
    from ksched_cli.live.client import names_cluster
    from ksched_cli.run.run import KubeconfigCluster

    try:
        path = default_state_path()
    except NoStateError:
        if not names_cluster():
            raise
        return replace(run, live=KubeconfigCluster(namespace=run.namespace))
    if path != os.environ.get(STATE_VARIABLE):
        note(f"reading {path}")
    return replace(run, states=(path,))


# -- Run → what answers ---------------------------------------------------------------------------


def opener(*runs: Run, inputs: Inputs | None = None) -> Opener:
    """Open these Runs for what is no question; warnings go to standard error."""
    from ksched_cli.commands.observer import Terminal
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import check_standard_input_of

    check_standard_input_of(runs)
    terminal = Terminal()
    return Opener(runs, inputs, read_live=terminal.read_live, warn=warn)


def answered(question: Question[A], *runs: Run, observer: Observer | None = None) -> A:
    """Ask a question about these Runs and show in the terminal what happens meanwhile. Raises
    KschedError."""
    from ksched_cli.analysis.question import ask
    from ksched_cli.commands.observer import Terminal

    return ask(question, *runs, observer=observer or Terminal())


def pod_or_manifest(pod: str, manifest: str | None, run: Run) -> PodOrManifest:
    """Return what POD or -f FILE asks about. Raises UsageError if two things are standard input."""
    from ksched_cli.run.run import applied_file

    if manifest is None:
        return pod
    check_standard_input({"--state": run.states, "-f": [manifest]})
    return applied_file(manifest)


def registry(run: Run) -> Registry:
    """Return the plugins in the release that the Run names, else in the newest; the result names
    it. Raises UsageError."""
    from ksched_cli.run.plugins import discovered, usable

    return in_named_release(usable(discovered(run.plugins), warn), run)


def in_named_release(plugins: Registry, run: Run) -> Registry:
    """Return the same plugins in that release. Raises UsageError."""
    from ksched_cli.run.plugins import in_release

    minor, gates = run.kubernetes_version, run.feature_gates
    compatibility = run.min_compatibility_version
    release = (
        release_of(minor, gates, compatibility=compatibility)
        if minor
        else inferred_release((), gates, compatibility)
    )
    set_release(release)
    return in_release(plugins, release)
