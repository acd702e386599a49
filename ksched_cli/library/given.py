"""The inputs that a Python program gives a Run: paths, parsed objects, bytes and classes, each as
the contents of a named file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import UsageError
from ksched_cli.run.run import ChangeSource

if TYPE_CHECKING:
    from ksched_cli.framework.interface import Plugin
    from ksched_cli.run.inputs import Inputs

Path: TypeAlias = str | PathLike[str]
Manifest: TypeAlias = Mapping[str, Any]
# A path; the content of a file; an object, or several.
State: TypeAlias = Path | bytes | Manifest | Sequence[Path | bytes | Manifest]
# A path, as --config takes it; the content of a file; the configuration, parsed.
Config: TypeAlias = Path | bytes | Manifest
# A line in kubectl's words; {"apply": object}; the path of a scenario file.
Change: TypeAlias = str | Manifest | PathLike[str]
# A path; the content of a file; the document, parsed; its events alone.
Timeline: TypeAlias = Path | bytes | Manifest | Sequence[Manifest]
# A class; a path, or MODULE:NAME, as --plugin takes it.
PluginSource: TypeAlias = "type[Plugin] | Path"
# Takes how much is done, and of how much.
Progress: TypeAlias = Callable[[int, int], None]

Named = TypeVar("Named")


class Given:
    """Puts what several Runs were given into the inputs of their question. Equal contents have one
    name, so that Runs which share them do not differ."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self._names: dict[tuple[str, object], str] = {}

    def states(self, state: State) -> tuple[str, ...]:
        """Return the names of the parts of a state, in the form of Run.states. Raises
        UsageError."""
        from ksched_cli.cluster.loading.sources import Source

        if isinstance(state, str | PathLike | bytes | Mapping):
            state = (state,)
        names: list[str] = []
        objects: list[Manifest] = []
        contents: dict[str, bytes] = {}
        if not isinstance(state, Sequence):
            raise UsageError(f"state takes paths, bytes and objects; not {state!r}")
        for part in state:
            if isinstance(part, Mapping):
                objects.append(part)
            elif isinstance(part, bytes):
                names.append(self._name("state", part))
                contents[names[-1]] = part
            elif isinstance(part, str | PathLike):
                names.append(fspath(part))
            else:
                raise UsageError(f"a state is a path, bytes or an object; not {part!r}")
        if objects:
            raw = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
            names.append(self._name("state", raw))
            contents[names[-1]] = raw
        paths = tuple(names)
        if contents:
            sources = [
                [Source(name, contents[name])] if name in contents else self.inputs.sources((name,))
                for name in names
            ]
            self.inputs.give(paths, *(source for part in sources for source in part))
        return paths

    def configuration(self, config: Config) -> str:
        """Return the configuration in the form of Run.configuration. Raises InputError."""
        if isinstance(config, str | PathLike):
            return fspath(config)
        if isinstance(config, Mapping):
            config = msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, **config})
        return self._give("configuration", config, self.inputs.give_configuration)

    def file(self, kind: str, content: Timeline) -> str:
        """Return the path of a timeline or an autoscaler. kind: of its document"""
        if isinstance(content, str | PathLike):
            return fspath(content)
        if not isinstance(content, bytes):
            document = content if isinstance(content, Mapping) else {"events": content}
            content = msgspec.json.encode({"apiVersion": "ksched/v1", "kind": kind, **document})
        return self._give(kind.lower(), content, self.inputs.give_file)

    def plugin(self, source: PluginSource) -> str:
        """Return the plugin in the form of Run.plugins. Raises UsageError for anything else."""
        if isinstance(source, type):
            name = getattr(source, "name", source.__name__)
            return self._give(name, source, self.inputs.give_plugin)
        if not isinstance(source, str | PathLike):
            raise UsageError(f"a plugin is a class, a path or MODULE:NAME; not {source!r}")
        return fspath(source)

    def _give(self, kind: str, content: Named, give: Callable[[str, Named], None]) -> str:
        name = self._name(kind, content)
        give(name, content)
        return name

    def _name(self, kind: str, content: object) -> str:
        """Return the kind for the first such content, with a number for each other one."""
        count = sum(other == kind for other, _ in self._names)
        name = kind if not count else f"{kind} {count + 1}"
        return self._names.setdefault((kind, content), name)


def change_of(change: Change) -> ChangeSource:
    """Return the source of a change, which may be given in several forms. Raises UsageError for
    anything else."""
    if isinstance(change, str):
        return ChangeSource(line=change)
    if isinstance(change, PathLike):
        return ChangeSource(scenario=fspath(change))
    if not isinstance(change, Mapping) or set(change) != {"apply"}:
        raise UsageError(f'a change is a line, a path, or {{"apply": object}}; not {change!r}')
    return ChangeSource(apply=change["apply"])
