"""What the runs of a sweep are made from: plain data, which goes to other processes as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from msgspec import Struct

from ksched_cli import __version__
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.errors import UsageError
from ksched_cli.framework.hookspecs import PROJECT
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.change import Change
from ksched_cli.sweep.patches import PatchPath

DIGEST_LENGTH = 20


def digest(*parts: Any) -> str:
    """Of plain data and bytes; the same in every process."""
    total = sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        total.update(b"%d:" % len(raw))
        total.update(raw)
    return total.hexdigest()[:DIGEST_LENGTH]


@dataclass(frozen=True)
class NamedState:
    """sources: the bytes of its files"""

    name: str
    sources: tuple[Source, ...]

    @cached_property
    def digest(self) -> str:
        return digest(*(source.data for source in self.sources))


@dataclass(frozen=True)
class NamedConfiguration:
    """text: of the file, None for the default configuration; data: what patches are made to"""

    name: str
    text: str | None
    data: Any

    @cached_property
    def digest(self) -> str:
        return digest(self.text)


@dataclass(frozen=True)
class ChangeSet:
    """Changes that are done to a state, one after the other."""

    name: str
    changes: tuple[Change, ...] = ()

    @cached_property
    def digest(self) -> str:
        return digest([[change.text, _manifests_of(change)] for change in self.changes])


def _manifests_of(change: Change) -> Sequence[Any]:
    """What a change has that its text does not: the objects of files."""
    return [change.namespace, *change.manifests] if isinstance(change, Apply) else []


@dataclass(frozen=True)
class CodeSource:
    """Code of a user's: MODULE:NAME, FILE.py or FILE.py:NAME.

    path:    of the file, absolute; "" for a module, which must be installed where it is to run
    content: of the file or, where it can be read, of the module
    """

    text: str
    path: str
    content: bytes

    @classmethod
    def of(cls, text: str, folder: Path | None = None) -> CodeSource:
        """folder: what the file's path is relative to. Raises UsageError where it is not there."""
        file, colon, name = _split(text)
        if not file.endswith(".py"):
            return cls(text, "", _module_content(file))
        path = Path(folder or Path(), file)
        try:
            return cls(f"{file}{colon}{name}", str(path.absolute()), path.read_bytes())
        except (OSError, ValueError) as error:  # a null byte, half of a surrogate pair
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"{text}: {reason}") from None

    @property
    def name(self) -> str:
        """What follows the module or the file."""
        return _split(self.text)[2]

    def here(self) -> str:
        """As --plugin takes it in this process: the file where it is the same one, else a copy."""
        if not self.path:
            return self.text
        path = self.path
        if not os.path.isfile(path) or Path(path).read_bytes() != self.content:
            path = os.path.join(mkdtemp(prefix="ksched-sweep-"), os.path.basename(path))
            Path(path).write_bytes(self.content)
        return f"{path}:{self.name}" if self.name else path

    @property
    def digest(self) -> str:
        return digest(self.text, self.content)


def _split(text: str) -> tuple[str, str, str]:
    if text.endswith(".py"):
        return text, "", ""
    module, colon, name = text.rpartition(":")
    return (module, colon, name) if colon else (text, "", "")


def _module_content(module: str) -> bytes:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return b""
    origin = spec.origin if spec is not None else None
    return Path(origin).read_bytes() if origin and origin.endswith(".py") else b""


def installed_versions() -> dict[str, str]:
    """The versions of ksched and of the distributions that have plugins, by name."""
    versions = {"ksched": __version__}
    for point in entry_points(group=PROJECT):
        if point.dist is not None:
            versions[point.dist.name] = point.dist.version
    return versions


class Run(Struct, frozen=True):
    """What a single run is made from.

    state, configuration, changes, plugins: indexes in the materials
    patches: of the configuration, in order
    minor:   whose rules; "" for that of the state's kubelets
    seed:    of the draws among equally good nodes; None takes the first by name
    """

    id: str
    state: int
    configuration: int
    changes: int
    plugins: int
    patches: tuple[tuple[PatchPath, Any], ...] = ()
    minor: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class Materials:
    """reads: kinds that plugins read, besides those that ksched knows
    workloads: whether the pods are made that workloads lack
    extenders: whether extenders are called
    retries:   whether pods are tried again that failed
    versions:  of ksched and of the installed plugins, see installed_versions
    """

    states: tuple[NamedState, ...]
    configurations: tuple[NamedConfiguration, ...]
    change_sets: tuple[ChangeSet, ...]
    plugin_sets: tuple[tuple[CodeSource, ...], ...] = ((),)
    metrics: tuple[CodeSource, ...] = ()
    feature_gates: str = ""
    workloads: bool = True
    extenders: bool = True
    retries: bool = True
    reads: frozenset[str] = frozenset()
    versions: tuple[tuple[str, str], ...] = ()

    @cached_property
    def digest(self) -> str:
        """Of what all runs have in common."""
        metrics = [metric.digest for metric in self.metrics]
        parts = [metrics, self.feature_gates, self.workloads, self.extenders, sorted(self.versions)]
        if not self.retries:  # else the digest that earlier rows have
            parts.append("no retries")
        return digest(*parts)

    def run(
        self,
        *,
        state: int = 0,
        configuration: int = 0,
        changes: int = 0,
        plugins: int = 0,
        patches: tuple[tuple[PatchPath, Any], ...] = (),
        minor: str = "",
        seed: int | None = None,
    ) -> Run:
        """With the id that a run like it has in every sweep."""
        identity = digest(
            self.digest,
            self.states[state].digest,
            self.configurations[configuration].digest,
            [[path.text, value] for path, value in patches],
            self.change_sets[changes].digest,
            [source.digest for source in self.plugin_sets[plugins]],
            minor,
            seed,
        )
        return Run(identity, state, configuration, changes, plugins, patches, minor, seed)
