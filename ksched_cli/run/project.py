"""The project file `.ksched.yaml`: settings of the files below its folder.

Found upwards from each file, and the nearest one decides alone, as in ruff.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from ksched_cli.config.allowed_plugins import AllowedPlugin, parse_allowed
from ksched_cli.config.checks.rules import check_ignored, rules_of
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.documents import decode_text, load_documents, locate, path_text, read_file
from ksched_cli.kube.file_parts import FilePart, decode_file
from ksched_cli.kube.file_paths import STDIN, split_reference
from ksched_cli.kube.versions import MINORS, NEWEST, minor_of, release_of
from ksched_cli.run.axes import fields_of
from ksched_cli.run.file_settings import settings_type
from ksched_cli.run.run import ReleaseSettings

Place: TypeAlias = tuple[str | int, ...]
FILE = ".ksched.yaml"
_OPTION = re.compile(r"^--[a-z-]+:? ")  # that an error is about on the command line
_HINT = "Expected settings such as `ignore: [weights]`; docs/pipelines.md lists them."


if TYPE_CHECKING:

    class VersionSettings(FilePart, frozen=True, kw_only=True):
        """The kube-scheduler whose rules decide: ReleaseSettings of a Run."""

        kubernetes_version: str = ""
        feature_gates: str = ""
        min_compatibility_version: str = ""

else:
    VersionSettings = settings_type("VersionSettings", fields_of(ReleaseSettings), default="")


class ProjectSettings(VersionSettings, frozen=True, kw_only=True):
    """What a project file may say.

    api_version, kind: May be left out.
    allow_plugins: Plugins of another build, NAME or NAME=POINT+POINT, besides --allow-plugins.
    no_plugins: Import no plugin that a file names and --plugin does not, as --no-plugins.
    select: Rules and families of rules that are on, or all; without it, those by default.
    extend_select: Rules and families that are on besides.
    ignore: Rules and families that are off.
    fail_on: The least severe finding with which validate ends with exit code 1.
    per_file_ignores: From globs of files, relative to this file, to rules and families; RULE@PATH
            is for a part of a file, as weight-zero@profiles[0].plugins.score.
    """

    api_version: Literal["ksched/v1"] = "ksched/v1"
    kind: Literal["Project"] = "Project"
    allow_plugins: tuple[str, ...] = ()
    no_plugins: bool = False
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Literal["error", "warning"] = "error"
    per_file_ignores: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    """path: of the file, "" if there is none"""

    path: str = ""
    settings: ProjectSettings = field(default_factory=ProjectSettings)
    allowed: tuple[AllowedPlugin, ...] = ()

    @property
    def folder(self) -> Path:
        return Path(self.path).absolute().parent


class Projects:
    """The project files of files, each read once."""

    def __init__(self) -> None:
        self._projects: dict[Path, Project] = {}

    def of(self, reference: str) -> Project:
        """That of FILE, FILE#NAME, or `-`, which is here. Raises InputError for one that is not
        valid."""
        file = split_reference(reference)[0]
        folder = Path.cwd() if file == STDIN else Path(file).absolute().parent
        for candidate in (folder, *folder.parents):
            path = candidate / FILE
            if path.is_file():
                if path not in self._projects:
                    here = Path.cwd()
                    shown = path.relative_to(here) if path.is_relative_to(here) else path
                    self._projects[path] = read_project(str(shown))
                return self._projects[path]
        return Project()


def read_project(path: str) -> Project:
    """Read a project file. Raises InputError, with every problem and its place."""
    raw, name = read_file(path)
    text = decode_text(raw, name)
    documents = list(load_documents(text, name)) if text.strip() else []
    if len(documents) > 1:
        raise InputError(name, "expected one document", hint=_HINT)
    data = documents[0] if documents else {}
    settings = decode_file(data, ProjectSettings, text, name, _HINT)
    errors = []
    for place, check in _checks(settings):
        try:
            check()
        except UsageError as error:
            problem, position = _OPTION.sub("", str(error)), locate(text, 0, place)
            subject = path_text(place)
            errors.append(InputError(name, problem, subject=subject, position=position))
    if errors:
        raise errors[0].with_others(errors[1:])
    allowed = (plugin for item in settings.allow_plugins for plugin in parse_allowed(item))
    return Project(path, settings, tuple(allowed))


def _checks(settings: ProjectSettings) -> Iterator[tuple[Place, Callable[[], object]]]:
    """Yield checks of values that may name unknown things, each with its path. They raise
    UsageError."""
    minor, gates = settings.kubernetes_version or NEWEST, settings.feature_gates
    yield ("kubernetesVersion",), partial(release_of, minor)
    has_minor = minor_of(minor) in MINORS
    if gates and has_minor:
        yield ("featureGates",), partial(release_of, minor, gates)
    compatibility = settings.min_compatibility_version
    if compatibility and has_minor:
        check_version = partial(release_of, minor, compatibility=compatibility)
        yield ("minCompatibilityVersion",), check_version
    for index, text in enumerate(settings.allow_plugins):
        yield ("allowPlugins", index), partial(parse_allowed, text)
    for key, selectors, check in (
        ("select", settings.select or (), rules_of),
        ("extendSelect", settings.extend_select, rules_of),
        ("ignore", settings.ignore, check_ignored),
    ):
        for index, selector in enumerate(selectors):
            yield (key, index), partial(check, selector)
    for pattern, selectors in settings.per_file_ignores.items():
        for index, selector in enumerate(selectors):
            place = ("perFileIgnores", pattern, index)
            yield place, partial(check_ignored, selector.partition("@")[0])
