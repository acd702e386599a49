"""Finds the plugins: the in-tree ones by an explicit list, the others by entry point or by hand.

Each foreign source is loaded separately, so that one that fails is reported and the others work.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy
from msgspec import Struct, field, structs

from ksched_cli.errors import UsageError
from ksched_cli.framework.failures import FAILURES, described, raise_users_interrupt
from ksched_cli.framework.hookspecs import API_ATTRIBUTE, PROJECT, Hooks
from ksched_cli.framework.interface import (
    API_VERSION,
    CONTRACTS,
    EXTENSIONS,
    Plugin,
    Scope,
    points_of,
)
from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.framework.status import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ksched_cli.cluster.custom_objects import PodMaker

_METADATA_FOLDER = re.compile(r"(\.dist|\.egg|^egg)-info$", re.IGNORECASE)


class Broken(Struct, frozen=True):
    """A source whose plugins could not be loaded, and why.

    origin: the distribution and version, or the argument of --plugin
    cause:  one line
    detail: the traceback, "" if there is none
    is_requested: it was named with --plugin
    """

    origin: str
    cause: str
    is_requested: bool = False
    detail: str = ""


class Discovery(Struct, frozen=True):
    """The plugins that could be loaded, and the sources that could not.

    workloads: kinds that a source makes pods of → its origin
    notes:     a line for each installed plugin that one named with --plugin replaces
    """

    registry: Registry
    broken: tuple[Broken, ...]
    workloads: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Loaded(NamedTuple):
    """The contents of a source. plugins: name → class; pod_makers: by kind"""

    plugins: Mapping[str, Any]
    pod_makers: Mapping[str, PodMaker] = MappingProxyType({})


class UnfitError(Exception):
    """A source has no plugin, or one that does not work with this version of ksched."""


class ImportPolicy(Struct, frozen=True):
    """Which plugins are imported that files of data name; installed ones always are.

    named:  the sources that --plugin names
    others: whether a file may name others
    """

    named: Sequence[str] = ()
    others: bool = True

    def names(self, source: str) -> bool:
        """Return whether --plugin names the source."""
        return source_identity(source) in map(source_identity, self.named)

    def check(self, source: str, file: str) -> None:
        """Refuse a source that the file must not name. Raises UsageError."""
        if not (self.others or self.names(source)):
            raise UsageError(
                f"{file} names the plugin {source}, but --no-plugins (noPlugins of "
                ".ksched.yaml) allows only plugins that --plugin names"
            )


def source_identity(source: str) -> tuple[str, str]:
    """Return the same for sources that name the same: the module or the file, and the name in
    it."""
    place, name = _split(source)
    if place.endswith(".py") and "\0" not in place:  # of which there is no file
        place = os.path.realpath(place)
    return place, name


def _split(source: str) -> tuple[str, str]:
    """Return the module or file, and the name in it, which may be ""."""
    place, _, name = source.rpartition(":")
    return (place, name) if place else (source, "")


def entry_points() -> Iterable[EntryPoint]:
    """Return the entry points of plugins. Importing importlib.metadata takes longer than a look at
    the files that it would read, and so it is imported only if one of them names some."""
    if "importlib.metadata" not in sys.modules and not _may_have_plugins():
        return ()
    places = tuple((place, _changed_at(place)) for place in sys.path)
    return _entry_points_of(places, tuple(map(id, sys.meta_path)))


@lru_cache(maxsize=4)
def _entry_points_of(
    places: tuple[tuple[str, int], ...], finders: tuple[int, ...]
) -> Iterable[EntryPoint]:
    """Return the entry points of plugins, which a process that asks many questions reads again only
    where something has been installed since. places: with the times when they changed; finders: by
    identity"""
    from importlib import metadata

    return metadata.entry_points(group=PROJECT)


def _changed_at(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0


def _may_have_plugins() -> bool:
    """Return whether distributions may have entry points of plugins, as far as a quick look
    tells."""
    if any(hasattr(each, "find_distributions") for each in sys.meta_path if each != PathFinder):
        return True
    group = f"[{PROJECT}]".encode()
    for place in sys.path:
        try:
            folders = os.listdir(place or ".")
        except FileNotFoundError:
            continue
        except OSError:
            return True  # a zip file
        for folder in filter(_METADATA_FOLDER.search, folders):
            try:
                content = Path(place, folder, "entry_points.txt").read_bytes()
            except OSError:
                continue  # most distributions have none
            if group in content:
                return True
    return False


def discover(
    in_tree: Iterable[PluginEntry],
    sources: Sequence[str] = (),
    classes: Mapping[str, type[Plugin]] | None = None,
) -> Discovery:
    """Discover the installed plugins and those of `sources`, and return them with the in-tree ones.

    sources: MODULE:NAME or FILE.py, of plugins that are not installed, or that replace installed
        ones of their names; or a key of `classes`

    Raises UsageError where two of the sources have a plugin of the same name, or one has that of an
    in-tree plugin.
    """
    registration = _Registration({entry.name: entry for entry in in_tree})
    for point in entry_points():
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        registration.add(origin, partial(_installed, point))
    for source in sources:
        given = (classes or {}).get(source)
        load = partial(_by_hand, source) if given is None else partial(_by_class, given)
        registration.add(source, load, is_requested=True)
    registry = Registry(registration.entries.values(), pod_makers=registration.pod_makers)
    notes = tuple(registration.notes)
    return Discovery(registry, tuple(registration.broken), registration.workloads, notes)


class _Registration(Struct):
    """The registrations of the sources so far."""

    entries: dict[str, PluginEntry]
    pod_makers: dict[str, PodMaker] = field(default_factory=dict)
    workloads: dict[str, str] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _installed: set[str] = field(default_factory=set)

    def add(self, origin: str, load: Callable[[], Loaded], *, is_requested: bool = False) -> None:
        """Add all that a source has, or add the reason to `broken` and nothing else. Raises
        UsageError for what another source has, too."""
        try:
            loaded = load()
            entries = [entry_of(name, plugin, origin) for name, plugin in loaded.plugins.items()]
        except UnfitError as error:
            self.broken.append(Broken(origin, str(error), is_requested))
            return
        except FAILURES as error:
            raise_users_interrupt(error)
            detail = traceback.format_exc()
            self.broken.append(Broken(origin, described(error), is_requested, detail))
            return
        for entry in entries:
            other = self.entries.get(entry.name)
            is_installed = other is not None and other.name in self._installed
            if other is not None and is_installed and not is_requested:
                entry = replace(other, rival=origin)
            elif other is not None and is_installed:
                self._installed.discard(entry.name)
                self.notes.append(f"{origin} replaces the plugin {entry.name} of {other.origin}")
            elif other is not None:
                raise UsageError(
                    f'two plugins are named "{entry.name}": one from {other.origin}, one from '
                    f"{entry.origin}; leave out one of them"
                )
            elif not is_requested:
                self._installed.add(entry.name)
            self.entries[entry.name] = entry
        for kind in sorted(loaded.pod_makers):
            if kind in self.workloads:
                raise UsageError(
                    f"{origin} makes pods of {kind}, as {self.workloads[kind]} does; "
                    "uninstall or leave out one of them"
                )
            self.workloads[kind] = origin
        self.pod_makers |= loaded.pod_makers


def entry_of(name: str, plugin: Any, origin: str) -> PluginEntry:
    """Return the entry. Raises UnfitError for anything that is not a plugin class."""
    if not inspect.isclass(plugin) or not issubclass(plugin, Plugin):
        raise UnfitError(f'"{name}" is {plugin!r}, expected a class that extends Plugin')
    if getattr(plugin, "name", None) != name or not isinstance(name, str):
        own = getattr(plugin, "name", None)
        raise UnfitError(f'{plugin.__name__} is registered as "{name}", but its name is {own!r}')
    if not points_of(plugin):
        raise UnfitError(f"{name} extends no extension point")
    if lacking := _bases_lacking(plugin):
        bases = ", ".join(each.__name__ for each in (*plugin.__bases__, *lacking))
        methods = ", ".join(name for names in lacking.values() for name in names)
        raise UnfitError(
            f"{name} has {methods}, which nobody would call, as it does not extend "
            f"{', '.join(each.__name__ for each in lacking)}; write `class "
            f"{plugin.__name__}({bases})`"
        )
    missing = sorted(getattr(plugin, "__abstractmethods__", ()))
    if missing:
        raise UnfitError(f"{name} has no {', '.join(missing)}")
    if not isinstance(plugin.scope, Scope):
        raise UnfitError(f"{name}'s scope is {plugin.scope!r}, expected a Scope")
    if not isinstance(plugin.reads, tuple):
        raise UnfitError(f"{name}'s reads is {plugin.reads!r}, expected a tuple of kinds")
    return PluginEntry.of(plugin, origin)


def tried(discovery: Discovery) -> Discovery:
    """Return the discovery after creating each foreign plugin for an empty cluster, without args;
    those that fail are among `broken`. Plugins that require args are not tried."""
    broken = list(discovery.broken)
    entries: list[PluginEntry] = []
    for entry in discovery.registry.values():
        problem = entry.problem or None
        if problem is None and entry.is_foreign and not entry.check_args(None):
            problem = _creation_error(entry)
        if problem is None:
            entries.append(entry)
        else:
            broken.append(Broken(entry.origin, f"{entry.name} cannot be made: {problem}"))
    registry = Registry(entries, discovery.registry.release, discovery.registry.pod_makers)
    return structs.replace(discovery, registry=registry, broken=tuple(broken))


def _creation_error(entry: PluginEntry) -> str | None:
    """Return why the plugin cannot be created. Return None where it can, or refuses the empty
    cluster."""
    from ksched_cli.cluster.snapshot import Snapshot
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.framework.handle import Handle, Nominator

    try:
        entry.make(None, Handle(Snapshot(()), ClusterState(), Nominator()))
    except PluginError:
        return None
    except FAILURES as error:
        raise_users_interrupt(error)
        return described(error)
    return None


# -- installed ------------------------------------------------------------------------------------


def _installed(point: EntryPoint) -> Loaded:
    module = point.load()
    if not hasattr(module, API_ATTRIBUTE):
        raise UnfitError(
            f"{point.value} does not say which API it is for: {API_ATTRIBUTE} is missing"
        )
    return _of_module(module)


def _of_module(module: Any) -> Loaded:
    """Return the result of the module's hooks. Raises UnfitError."""
    version = getattr(module, API_ATTRIBUTE, API_VERSION)
    if version != API_VERSION:
        raise UnfitError(f"it is for plugin API {version}; this ksched has {API_VERSION}")
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    manager.register(module)
    plugins: list[Any] = manager.hook.ksched_plugins()
    makers: list[Any] = manager.hook.ksched_workloads()
    for hook, answers in (("ksched_plugins", plugins), ("ksched_workloads", makers)):
        for answer in answers:
            if isinstance(answer, Mapping):
                continue
            # For a list of classes, the message names the dict to write instead.
            classes = answer if isinstance(answer, list | tuple | set) else ()
            items = ", ".join(
                f'"{each.name}": {each.__name__}'
                for each in classes
                if inspect.isclass(each) and issubclass(each, Plugin) and hasattr(each, "name")
            )
            write = f"; write return {{{items}}}" if items else ""
            kind = "class" if hook == "ksched_plugins" else "function"
            expected = f"expected a dict from names to a {kind} each{write}"
            raise UnfitError(f"{hook} returned {answer!r:.60}, {expected}")
    if not plugins and not makers:
        raise UnfitError("it does not implement the hook ksched_plugins")
    return Loaded(dict(ChainMap(*map(dict, plugins))), dict(ChainMap(*map(dict, makers))))


# -- by hand --------------------------------------------------------------------------------------


def _by_hand(source: str) -> Loaded:
    """Load the plugins of a source. Without a name, these are the plugins that the module's hook
    returns or, where it has no hook, all plugin classes that it defines.

    source: MODULE:NAME, FILE.py or FILE.py:NAME
    """
    module_name, name = _split(source)
    if module_name.endswith(".py"):
        module = module_of_file(Path(module_name))
    elif name:
        _importable(Path.cwd())
        module = import_module(module_name)
    else:
        raise UnfitError("expected MODULE:NAME or FILE.py")
    if name:
        plugin = getattr(module, name, None)
        if plugin is None:
            raise UnfitError(f"{module_name} has no {name}")
        return Loaded({getattr(plugin, "name", name): plugin})
    if hasattr(module, "ksched_plugins") or hasattr(module, "ksched_workloads"):
        return _of_module(module)
    plugins = {
        member.name: member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Plugin)
        and member.__module__ == module.__name__
        and hasattr(member, "name")
    }
    if not plugins:
        raise UnfitError(f"it has no plugin class with a `name`{_nearly_plugins(module)}")
    return Loaded(plugins)


def _nearly_plugins(module: ModuleType) -> str:
    """Return which classes of a module look like plugins, and what to write; "" for none."""
    for member in vars(module).values():
        if inspect.isclass(member) and member.__module__ == module.__name__:
            bases = [base.__name__ for base in _bases_lacking(member)]
            if bases:
                head = f"class {member.__name__}({', '.join(bases)})"
                return f"; {member.__name__} extends no class of ksched_cli.api: write `{head}`"
    return ""


def _bases_lacking(plugin: type[Any]) -> dict[type[Plugin], list[str]]:
    """Return the interfaces that a class has methods of and does not extend, with these methods:
    nobody would call them."""
    lacking: dict[type[Plugin], list[str]] = {}
    for base in (*CONTRACTS.values(), *EXTENSIONS):
        own = [
            name
            for name, method in vars(base).items()
            # `key` of QueueSortPlugin is a name that classes have for much else.
            if inspect.isfunction(method) and not name.startswith("_") and name != "key"
        ]
        if not issubclass(plugin, base):
            methods = [name for name in own if inspect.isfunction(getattr(plugin, name, None))]
            inherited = {
                name
                for other in plugin.__mro__
                if other is not plugin and other.__module__ == base.__module__
                for name in vars(other)
            }
            if methods := [name for name in methods if name not in inherited]:
                lacking[base] = methods
    return lacking


def _by_class(plugin: type[Plugin]) -> Loaded:
    return Loaded({getattr(plugin, "name", plugin.__name__): plugin})


def module_of_file(path: Path) -> ModuleType:
    """Import a file as a module. It can import other files of its folder."""
    if not os.path.isfile(path):
        raise UnfitError("there is no such file")
    _importable(path.resolve().parent)
    name = f"ksched_plugin_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UnfitError("it cannot be imported as a module")
    module = module_from_spec(spec)
    # Dataclasses look up their module's names there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _importable(folder: Path) -> None:
    """Append a folder to sys.path, at the end, so that it hides nothing installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
