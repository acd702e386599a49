"""The inputs of Runs: the contents of their files, each read once.

Inputs are plain data. A sweep sends them to other processes and machines, where the files that the
Runs name may be missing.
"""

from __future__ import annotations

import os
import pickle  # nosec B403  # of what this program sent to itself, see Inputs.__getstate__
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from inspect import getsource
from itertools import chain
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from msgspec import Struct

from ksched_cli import __version__
from ksched_cli.errors import MissingExtraError, UsageError
from ksched_cli.framework.discovery import entry_points
from ksched_cli.kube.documents import read_file
from ksched_cli.run.run import ChangeSource, Run, as_json

if TYPE_CHECKING:
    from ksched_cli.cluster.loading.sources import Source
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.config.sources import ConfigurationText
    from ksched_cli.framework.interface import Plugin
    from ksched_cli.scenario.change import Change

K = TypeVar("K")
V = TypeVar("V")

DIGEST_LENGTH = 20


def digest(*parts: Any) -> str:
    """Return a digest of plain data and bytes; the same in every process."""
    from hashlib import sha256

    total = sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else as_json(part)
        total.update(b"%d:" % len(raw))
        total.update(raw)
    return total.hexdigest()[:DIGEST_LENGTH]


def _once(cache: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """What the cache has under the key, else what `make` returns from now on."""
    if key not in cache:
        cache[key] = make()
    return cache[key]


def _new_folder() -> str:
    from tempfile import mkdtemp  # which a run that has its files here need not wait for

    return mkdtemp(prefix="ksched-run-")


class FileContent(Struct, frozen=True):
    """A file as it was read. path: as the Run names it; absolute: "" for standard input"""

    path: str
    absolute: str
    content: bytes

    def here(self, folder: Callable[[], str] = _new_folder) -> str:
        """Return a path in this process: of the file if it is unchanged, else of a copy in a folder
        made for it."""
        if self.absolute and os.path.isfile(self.absolute):
            same = self.path if os.path.abspath(self.path) == self.absolute else self.absolute
            if Path(same).read_bytes() == self.content:
                return same
        name = "standard-input" if self.path == "-" else os.path.basename(self.path)
        copy = os.path.join(folder(), name)
        Path(copy).write_bytes(self.content)
        return copy


class CodeSource(Struct, frozen=True):
    """A user's code: MODULE:NAME, FILE.py or FILE.py:NAME.

    file:    None for a module, which must be installed where it is to run
    content: of the file or, where it can be read, of the module
    """

    text: str
    file: FileContent | None
    content: bytes

    @classmethod
    def of(cls, text: str) -> CodeSource:
        """Return the source that a text of `--metric` or `--plugin` names. Raises UsageError where
        the file is not there."""
        path, _, _ = split_code(text)
        if not path.endswith(".py"):
            # Nothing of a module is imported, not even its packages.
            origin = None
            with suppress(ImportError, KeyError, ValueError):
                spec = _spec_of(path)
                origin = spec.origin if spec is not None else None
            content = Path(origin).read_bytes() if origin and origin.endswith(".py") else b""
            return cls(text, None, content)
        try:
            content = Path(path).read_bytes()
        except (OSError, ValueError) as error:  # a null byte, half of a surrogate pair
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"{text}: {reason}") from None
        return cls(text, FileContent(path, os.path.abspath(path), content), content)

    def here(self, folder: Callable[[], str] = _new_folder) -> str:
        """Return the code as --plugin takes it in this process."""
        if self.file is None:
            return self.text
        path, (_, _, name) = self.file.here(folder), split_code(self.text)
        return f"{path}:{name}" if name else path


def split_code(text: str) -> tuple[str, str, str]:
    """MODULE or FILE.py, the colon, and the name after it; the last two may be empty."""
    if text.endswith(".py"):
        return text, "", ""
    module, colon, name = text.rpartition(":")
    return (module, colon, name) if colon else (text, "", "")


def code_from(text: str, path_from: Callable[[str], str]) -> str:
    """FILE.py and FILE.py:NAME of a file, with the path from here; MODULE:NAME as it is."""
    path, colon, name = split_code(text)
    return f"{path_from(path)}{colon}{name}" if path.endswith(".py") else text


def _spec_of(module: str) -> ModuleSpec | None:
    """Return the module's spec. Raises ImportError, KeyError or ValueError if no finder takes
    it."""
    package, _, _ = module.rpartition(".")
    parent = _spec_of(package) if package else None
    if package and parent is None:
        return None
    path = None if parent is None else parent.submodule_search_locations or ()
    specs = (finder.find_spec(module, path) for finder in sys.meta_path)
    return next(filter(None, specs), None)


def installed_versions() -> dict[str, str]:
    """Return the versions of ksched and of the distributions that have plugins, by name."""
    versions = {"ksched": __version__}
    for point in entry_points():
        if point.dist is not None:
            versions[point.dist.name] = point.dist.version
    return versions


class Inputs:
    """The contents of the files that some Runs name.

    keeps_states: keep the bytes of states, so that they can be digested and sent; they are large
    most_added: how many nodes and pods the changes of a Run may add; None for no limit
    """

    def __init__(self, *, keeps_states: bool = False, most_added: int | None = None) -> None:
        self.keeps_states, self.most_added = keeps_states, most_added
        self._states: dict[tuple[str, ...], tuple[Source, ...]] = {}
        self._changes: dict[bytes, tuple[Change, ...]] = {}
        self._configurations: dict[str, ConfigurationText] = {}
        self._code: dict[str, CodeSource] = {}
        self._files: dict[str, FileContent] = {}
        self._here: dict[str, str] = {}  # paths and code in this process, by what the Run names
        self._digests: dict[bytes, str] = {}
        self._classes: dict[str, type[Plugin]] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_here": {}, "_digests": {}}
        if self._classes:
            # A notebook's cell is no module that another process could import.
            try:
                from cloudpickle import dumps
            except ImportError:
                raise MissingExtraError("sending classes to workers", "sweep") from None
            state["_classes"] = dumps(self._classes)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        if isinstance(self._classes, bytes):
            self._classes = pickle.loads(self._classes)  # nosec B301  # see __getstate__

    def _folder(self) -> str:
        """Return a folder of this process that is deleted with these inputs."""
        folder = _new_folder()
        finalize(self, rmtree, folder, ignore_errors=True)
        return folder

    def digested(self, key: bytes, make: Callable[[], str]) -> str:
        """Return the digest of some contents, which are large. key: of the contents, in these
        inputs"""
        return _once(self._digests, key, make)

    # -- states -----------------------------------------------------------------------------------

    def load(self, paths: tuple[str, ...], reads: Container[str]) -> ClusterState:
        """Return the cluster state in some files. reads: see load_sources. Raises InputError."""
        from ksched_cli.cluster.loading.load import StateFiles, load_sources

        if paths in self._states:
            return load_sources(self._states[paths], reads, tuple)
        files = StateFiles(paths)
        sources: Iterable[Source] = files.sources()
        if self.keeps_states:
            sources = self._states[paths] = tuple(sources)
        return load_sources(sources, reads, files.warnings, files.passed_over.append)

    def give(self, paths: tuple[str, ...], *sources: Source) -> None:
        """Add a state under these paths that is not in files."""
        self._states[paths] = sources

    def forget(self, paths: tuple[str, ...]) -> None:
        """Drop a state that was given."""
        self._states.pop(paths, None)

    def sources(self, paths: tuple[str, ...]) -> tuple[Source, ...]:
        """Return the bytes of a state's files. Raises InputError."""
        from ksched_cli.cluster.loading.load import StateFiles

        return _once(self._states, paths, lambda: tuple(StateFiles(paths).sources()))

    # -- everything else --------------------------------------------------------------------------

    def changes(self, run: Run) -> tuple[Change, ...]:
        """The Run's changes, parsed. Raises KschedError."""
        return tuple(chain.from_iterable(self._parsed(each, run.namespace) for each in run.changes))

    def _parsed(self, source: ChangeSource, namespace: str) -> tuple[Change, ...]:
        """Parse each source once: standard input ends."""
        key = as_json((source, namespace))
        return _once(self._changes, key, lambda: tuple(_parsed(source, namespace)))

    def changes_content(self, run: Run) -> Any:
        """Plain data that is equal where the Run's changes do the same: their texts, and the
        objects of the files that they apply. Raises KschedError."""
        from ksched_cli.scenario.apply import Apply

        return [
            [each.text, [each.namespace, *each.manifests] if isinstance(each, Apply) else []]
            for each in self.changes(run)
        ]

    def prices_content(self, run: Run) -> list[Any]:
        """Return the Run's prices, those of files as their contents. Raises InputError."""
        from ksched_cli.scenario.prices import is_price_file

        return [self.file(each).content if is_price_file(each) else each for each in run.prices]

    def configuration(self, reference: str) -> ConfigurationText:
        """reference: in the form of Run.configuration. Raises InputError."""
        # Brings the reader of YAML along.
        from ksched_cli.config.sources import read_configuration_text

        return _once(self._configurations, reference, lambda: read_configuration_text(reference))

    def give_configuration(self, reference: str, raw: bytes) -> None:
        """Add a configuration under this name that is not in a file. Raises InputError."""
        from ksched_cli.config.sources import configuration_text_of

        self._configurations[reference] = configuration_text_of(raw, reference)

    def give_file(self, path: str, content: bytes) -> None:
        """Add a timeline or an autoscaler under this name that is not in a file."""
        self._files[path] = FileContent(path, "", content)

    def give_plugin(self, text: str, plugin: type[Plugin]) -> None:
        """Add a plugin's class under this name."""
        self._classes[text] = plugin
        # The lines that define it count; without source, a text that identifies it.
        try:
            source = getsource(plugin).encode()
        except (OSError, TypeError):
            source = repr(plugin).encode()
        self._code[text] = CodeSource(text, None, source)

    @property
    def plugin_classes(self) -> Mapping[str, type[Plugin]]:
        """Return the given plugin classes by name."""
        return self._classes

    def keep_only(self, runs: Iterable[Run]) -> None:
        """Forget the changes and configurations of other Runs."""
        runs = tuple(runs)
        changes = {as_json((each, run.namespace)) for run in runs for each in run.changes}
        names = {run.configuration for run in runs}
        self._changes = {key: each for key, each in self._changes.items() if key in changes}
        self._configurations = {
            name: each for name, each in self._configurations.items() if name in names
        }
        self._digests.clear()

    def code(self, text: str) -> CodeSource:
        """text: in the form of Run.plugins. Raises UsageError."""
        return _once(self._code, text, lambda: CodeSource.of(text))

    def code_here(self, text: str) -> str:
        """Return the code as --plugin takes it in this process. Raises UsageError."""
        if text not in self._code:
            return text
        return _once(self._here, text, lambda: self._code[text].here(self._folder))

    def file(self, path: str) -> FileContent:
        """Return a timeline, an autoscaler, prices or a recording. Raises InputError."""
        absolute = "" if path == "-" else os.path.abspath(path)
        return _once(self._files, path, lambda: FileContent(path, absolute, read_file(path)[0]))

    def path_here(self, path: str) -> str:
        """Return the file's path in this process. Standard input ends, so a copy of it is kept.
        Raises InputError."""
        if path == "-":
            self.file(path)
        if path not in self._files:
            return path
        return _once(self._here, path, lambda: self._files[path].here(self._folder))

    def read(self, runs: Iterable[Run]) -> None:
        """Read whatever the Runs name, so that they can be opened without their files. Raises
        KschedError."""
        from ksched_cli.scenario.prices import is_price_file

        for run in runs:
            if run.states:
                self.sources(run.states)
            self.changes(run)
            if run.configuration:
                self.configuration(run.configuration)
            for text in run.plugins:
                self.code(text)
            files = (run.timeline, run.autoscaler, run.replay_extenders)
            for path in (*filter(None, files), *filter(is_price_file, run.prices)):
                self.file(path)


def _parsed(source: ChangeSource, namespace: str) -> Sequence[Change]:
    from ksched_cli.scenario.file import AppliedObjects, read_change, read_scenario

    if source.scenario:
        return read_scenario(source.scenario, namespace)
    entry = source.line or AppliedObjects(apply=source.apply)
    return (read_change(entry, namespace, Path(source.folder), "--change"),)
