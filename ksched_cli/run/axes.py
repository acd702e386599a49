"""What the annotations of a Run's fields say: how each is given, and how Runs that differ in it are
named.

Everything that takes a Run is made from them: the options of commands and the command line that
repeats a Run, the settings of files and of Python programs, the reference, and the names of sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, structs

from ksched_cli.errors import UsageError
from ksched_cli.masking import masked_data
from ksched_cli.run.patches import Item, PatchError, parse_path

# A Run and the contents of its files, whose modules import this one.
Run: TypeAlias = Any
Inputs: TypeAlias = Any

# The panels of --help, in order.
STATE = "Cluster state"
CONFIGURATION = "Configuration"
DECISIONS = "Decisions"
TIME = "Over time"
EXTENDERS = "Extenders"

DEFAULT_CONFIGURATION = "default configuration"


class Option(Struct, frozen=True):
    """How a field of a Run is given on the command line.

    help, metavar, panel: as --help shows them
    name:      by default the field's; that of a switch which is on by default begins with `no-`
    short:     the name with one dash
    variable:  of the environment; shows_variable: whether --help says so
    completes: what completes it: commands/completion.py has `complete_` and this
    only:      the commands that have it; all that take a Run by default
    read:      from the option's values to those of a field that is a tuple
    write:     the inverse: the option's values of those of the field
    """

    help: str
    metavar: str = ""
    panel: str = STATE
    name: str = ""
    short: str = ""
    variable: str = ""
    shows_variable: bool = True
    completes: str = ""
    only: tuple[str, ...] = ()
    read: Callable[[Sequence[str]], tuple[Any, ...]] = tuple
    write: Callable[[Iterable[Any]], Iterable[str]] = iter


class InFiles(Struct, frozen=True):
    """How a field that files set is written there.

    is_path: it is relative to the file
    value:   the type of the value there; by default that of the field
    """

    is_path: bool = False
    value: Any = None


class InTools(Struct, frozen=True):
    """How the clients of `serve mcp` give a field. pattern: of the text"""

    description: str
    pattern: str = ""


class Axis(Struct, frozen=True):
    """One thing that decides; fields of a Run that have the same one differ together.

    name:    as in "because of NAME"
    label:   the axis of one Run in words, as a part of a side's name
    content: what the axis is with the contents of its files, as plain data and bytes; None where
             it names no files
    """

    name: str
    label: Callable[[Run], str]
    content: Callable[[Run, Inputs], Sequence[Any]] | None = None


def text(name: str, form: str, default: str, *, is_file: bool = False) -> Axis:
    """Return the axis of a field of text or texts, whose label is its value in a form; where that
    is empty, the default. is_file: the value is the path of a file, which counts by its content"""
    field = name.replace(" ", "_")
    return of_field(field, name, form, default, is_file=is_file)


def of_field(field: str, name: str, form: str, default: str, *, is_file: bool = False) -> Axis:
    """Return `text`, for a field that is not called as the axis."""

    def label(run: Run) -> str:
        value = getattr(run, field)
        shown = ", ".join(value) if isinstance(value, tuple) else value
        return form.format(shown) if value else default

    return Axis(name, label, _file(field) if is_file else None)


def switch(field: str, on: str, off: str) -> Axis:
    """Return the axis of a field that is true or false."""

    def label(run: Run) -> str:
        return on if getattr(run, field) else off

    return Axis(on.removeprefix("with "), label)


# -- the axes of several fields, and those whose files are more than bytes -------------------------


def _file(field: str) -> Callable[[Run, Inputs], Sequence[Any]]:
    def content(run: Run, inputs: Inputs) -> Sequence[Any]:
        path = getattr(run, field)
        return [inputs.file(path).content] if path else [None]

    return content


def _state_label(run: Run) -> str:
    names = ", ".join(run.states) or (f"live {run.live.context}".strip() if run.live else "")
    return names if run.workloads else f"{names} without workloads"


def changes_label(run: Run) -> str:
    return ", ".join(change.text for change in run.changes) or "without changes"


def configuration_label(run: Run) -> str:
    """Return the configuration's name. The default with plugins of the command line has a name of
    its own."""
    if run.configuration:
        return run.configuration
    return f"default with {', '.join(run.plugins)}" if run.plugins else DEFAULT_CONFIGURATION


def _plugins_label(run: Run) -> str:
    if not run.configuration:
        return ""  # configuration_label names them
    return f"with {', '.join(run.plugins)}" if run.plugins else "without plugins"


def _patches_label(run: Run) -> str:
    short = Counter(short_path(patch.path) for patch in run.patches)
    parts = []
    for patch in run.patches:
        path = short_path(patch.path)
        value = masked_data(patch.value, patch.path)
        parts.append(f"{path if short[path] == 1 else patch.path}={shown(value)}")
    return ", ".join(parts) or "without patches"


def shown(value: Any) -> str:
    """Return a value of a patch, on one line."""
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value)) or "none"
    return str(value)


def short_path(path: str) -> str:
    """Return the last name of an item and the last key of a patch's path: `NodeResourcesFit.weight`
    of `profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight`."""
    try:
        steps = parse_path(path).steps
    except PatchError:
        return path
    names = [step.name for step in steps if isinstance(step, Item) and step.name]
    key = path.rpartition(".")[2]
    return f"{names[-1]}.{key}" if names and not key.endswith("]") else path


def _timeline_label(run: Run) -> str:
    until = f" until {run.until}" if run.until else ""
    return f"{run.timeline or 'without timeline'}{until}"


def _ties_label(run: Run) -> str:
    if run.tie_break == "name":
        return "ties by name"
    return "random ties" if run.seed is None else f"seed {run.seed}"


def _recording_label(run: Run) -> str:
    path = run.record_extenders or run.replay_extenders
    return f"extenders of {path}" if path else "extenders called"


def _regret_label(run: Run) -> str:
    if not run.regret:
        return "without regret"
    times = f" at {run.regret_at}" if run.regret_at else ""
    return f"regret in {run.regret}{times} after {run.time_limit:g} s"


CONFIGURATION_AXIS = Axis(
    "configuration",
    configuration_label,
    lambda run, inputs: [
        inputs.configuration(run.configuration).text if run.configuration else None
    ],
)
PLUGINS_AXIS = Axis(
    "plugins",
    _plugins_label,
    lambda run, inputs: [
        part for each in run.plugins for part in (each, inputs.code(each).content)
    ],
)
PATCHES_AXIS = Axis("patches", _patches_label)
STATE_AXIS = Axis(
    "state",
    _state_label,
    lambda run, inputs: [
        run.live,
        run.workloads,
        *(each.data for each in (inputs.sources(run.states) if run.states else ())),
    ],
)
CHANGES_AXIS = Axis(
    "changes",
    changes_label,
    lambda run, inputs: [inputs.changes_content(run), run.namespace if run.changes else ""],
)
TIMELINE_AXIS = Axis(
    "timeline",
    _timeline_label,
    lambda run, inputs: [
        *_file("timeline")(run, inputs),
        run.until,
        run.namespace if run.timeline else "",
    ],
)
PRICES_AXIS = Axis(
    "prices",
    of_field("prices", "prices", "at {}", "without prices").label,
    lambda run, inputs: inputs.prices_content(run),
)
TIES_AXIS = Axis("tie-break", _ties_label)
RECORDING_AXIS = Axis(
    "extenders' recording",
    _recording_label,
    lambda run, inputs: [run.record_extenders, *_file("replay_extenders")(run, inputs)],
)
REGRET_AXIS = Axis("regret", _regret_label)
PLUGIN_TIMEOUT_AXIS = Axis("plugin timeout", lambda run: f"plugin timeout {run.plugin_timeout:g} s")


# -- the fields of a Struct, with what their annotations say ---------------------------------------


@dataclass(frozen=True)
class Field:
    """A field of a Run, or of a Struct that is part of one.

    type:  without its annotation
    marks: the annotation
    """

    name: str
    type: Any
    default: Any
    marks: tuple[Any, ...]

    @cached_property
    def options(self) -> tuple[Option, ...]:
        return tuple(mark for mark in self.marks if isinstance(mark, Option))

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(mark for mark in self.marks if isinstance(mark, Axis))

    @cached_property
    def in_files(self) -> InFiles | None:
        """How files have it; None where they do not, or in a form of their own."""
        return next((mark for mark in self.marks if isinstance(mark, InFiles)), None)

    @property
    def is_on(self) -> bool:
        """Return whether it is a switch that is on by default, so that its option is
        `--no-NAME`."""
        return self.default is True

    @property
    def key(self) -> str:
        """Return the field's key in a file: its option's name in camelCase."""
        first, *rest = self.parameter(self.options[0]).split("_")
        return "".join((first, *(part.title() for part in rest)))

    def parameter(self, option: Option) -> str:
        """Return the option's name with underscores: state of --state, no_retries of
        --no-retries."""
        return option.name.replace("-", "_") or ("no_" if self.is_on else "") + self.name

    def typed(self, option: Option) -> str:
        """Return the option as it is typed: --no-retries."""
        return "--" + self.parameter(option).replace("_", "-")

    @cached_property
    def nested(self) -> type[Struct] | None:
        """Return the Struct that a switch makes from options of its own; None for other fields."""
        types = get_args(self.type) if self.default is None else ()
        return next((t for t in types if isinstance(t, type) and issubclass(t, Struct)), None)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """Return the texts that it may be; empty where it may be any."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def check(self, value: Any) -> None:
        """Check a value of the field. Raises UsageError where the value is none of the choices, or
        of another type."""
        option = self.typed(self.options[0])
        if self.choices and value not in self.choices:
            raise UsageError(f'{option} takes {" or ".join(self.choices)}; not "{value}"')
        try:
            msgspec.convert(value, self.type)
        except msgspec.ValidationError as error:
            problem = str(error).partition(" - at ")[0].replace("`", "")
            raise UsageError(f"{option} is {value!r}: {problem[0].lower()}{problem[1:]}") from None


@cache
def fields_of(cls: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a Struct, those of its bases first."""
    hints = get_type_hints(cls, include_extras=True)
    listed = []
    for each in structs.fields(cls):
        hint = hints[each.name]
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        default = None if each.default is NODEFAULT else each.default
        listed.append(Field(each.name, kind, default, tuple(marks)))
    return tuple(listed)


def options_of(fields: Iterable[Field]) -> Iterator[tuple[Field, Option]]:
    """Every option of the fields, each with its field; those of nested Structs follow the switch
    that makes one."""
    for field in fields:
        yield from ((field, option) for option in field.options)
        if field.nested is not None:
            yield from options_of(fields_of(field.nested))
