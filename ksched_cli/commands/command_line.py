"""What typer is told about the command line beyond options and arguments: help, sides, and
`--trace=POD`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from math import nan
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ksched_cli import program_name
from ksched_cli.commands.command_errors import unexpected_argument
from ksched_cli.errors import UsageError

# Three years; timers of the system take no more than some centuries.
MAX_SECONDS = 1e8

# The panels of options that commands share; --help shows them in this order. The options of a Run
# are in the first five (run/axes.py).
CONFIGURATION = "Configuration"
OUTPUT = "Output"
COMMON = ("Cluster state", CONFIGURATION, "Decisions", "Over time", "Extenders", OUTPUT)
# The panels of what a command alone takes.
OWN = ("Arguments", "Options")
# Shows the shared options, too, and every example.
HELP_ALL = "--help-all"
BRIEF_EXAMPLES = 3
# Those that everybody needs; help names them.
USUAL = ("--state", "--config", "--change", "--kubernetes-version", "--output")
# Begins the examples in a command's docstring.
EXAMPLES = "\n\nExamples:\n"
# Parts a command line into sides.
SIDES = "--vs"
# Parameters that are of the whole answer, wherever they are given.
OF_ANSWER = (
    *("output", "quiet", "verbose", "no_pager", "open_page", "everything", "debug", "timings"),
)
# The value of --timings that is no file.
TIMINGS_TABLE = "table"


class CommandGroup(TyperGroup):
    """Commands. Where none is named, help goes to standard error: typer's no_args_is_help makes an
    error of its text."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        convert_plainly(self.get_params(ctx))
        if args[:1] == ["help"]:  # `ksched help explain`
            args = [*args[1:], "--help"]
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help(), file=sys.stderr)
            raise typer.Exit(UsageError.exit_code)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write panel by panel each command with the first sentence of its help, whole."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            paragraph = command.help.partition("\n\n")[0].replace("\n", " ")
            sentence = re.split(r"(?<=[.?]) ", paragraph)[0]
            panels.setdefault(command.rich_help_panel or "Commands", []).append((name, sentence))
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        for panel, rows in panels.items():
            with formatter.section(_heading(panel)):
                formatter.write_dl([(name.ljust(width), sentence) for name, sentence in rows])
        formatter.write(f"\n{program_name()} help COMMAND says more, with examples.\n")


class ExampleCommand(TyperCommand):
    """A command whose help has its own options and some examples, and with --help-all every option,
    panel by panel, and all examples.

    Its --trace is given with a pod, or without: pods are arguments, because an option of typer's
    takes a value or none.
    """

    def __init__(self, name: str | None, *, help: str | None = None, **settings: Any) -> None:
        text, _, examples = (help or "").partition(EXAMPLES)
        self.examples = tuple(line.strip() for line in examples.splitlines() if line.strip())
        super().__init__(name, help=text, **settings)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the purpose and the paragraph after it, with --help-all every one."""
        paragraphs = (self.help or "").split("\n\n")
        shown = paragraphs if HELP_ALL in ctx.meta else paragraphs[:2]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(shown))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels = self.panels(ctx)
        rest = [] if HELP_ALL in ctx.meta else [panel for panel in panels if panel not in OWN]
        for panel, parameters in panels.items():
            if panel not in rest:
                records = [parameter.get_help_record(ctx) for parameter in parameters]
                with formatter.section(_heading(panel)):
                    formatter.write_dl(records)
        if rest:
            shared = [parameter for panel in rest for parameter in panels[panel]]
            names = {parameter.opts[-1] for parameter in shared}
            usual = ", ".join(name for name in USUAL if name in names)
            about = (
                f"common options ({usual}, …)" if usual else f"options ({', '.join(rest).lower()})"
            )
            formatter.write_paragraph()
            formatter.write_text(f"{len(shared)} {about}: {HELP_ALL}")

    def panels(self, ctx: Any) -> dict[str, list[Any]]:
        """Return the parameters that are not hidden, by the title of their panel."""
        panels: dict[str, list[Any]] = {panel: [] for panel in OWN}
        for parameter in self.get_params(ctx):
            if parameter.get_help_record(ctx) is not None:
                own = f"{parameter.param_type_name.title()}s"
                panel = getattr(parameter, "rich_help_panel", None) or own
                panels.setdefault(panel, []).append(parameter)
        order = (*(panel for panel in panels if panel not in COMMON), *COMMON)
        return {panel: panels[panel] for panel in order if panels.get(panel)}

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they stand, so that they can be copied."""
        examples = self.examples[: None if HELP_ALL in ctx.meta else BRIEF_EXAMPLES]
        if examples:
            formatter.write(f"\n{_heading('Examples')}:\n")
            for line in examples:
                formatter.write(f"  {line}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        parameters = self.get_params(ctx)
        convert_plainly(parameters)
        end = args.index("--") if "--" in args else len(args)  # of the options: names follow
        names = args[end:]
        if HELP_ALL in args[:end] and not ctx.resilient_parsing:
            ctx.meta[HELP_ALL] = True
            print(ctx.get_help())
            raise typer.Exit
        split = [part for arg in args[:end] for part in _split_trace(arg)]
        if not any(SIDES in parameter.opts for parameter in parameters):
            rest = super().parse_args(ctx, [*split, *names])
            traced = ctx.params.get("traced")
            if traced and not ctx.params["trace"] and not ctx.resilient_parsing:
                raise unexpected_argument(ctx, traced[0])
            return rest
        # A mark that is the value of an option is not told apart.
        parts: list[list[str]] = [[]]
        for each in split:
            if each == SIDES:
                parts.append([])
            else:
                parts[-1].append(each)
        shared, *sides = parts
        if ctx.resilient_parsing:  # completion: any option may follow
            shared, sides = [part for part in split if part != SIDES], []
        rest = super().parse_args(ctx, [*shared, *names])
        if sides:
            # Each part of the line gives options, by name.
            given = []
            for side in sides:
                part = self.make_context(ctx.info_name, side, parent=ctx.parent)
                values = {
                    name: value
                    for name, value in part.params.items()
                    if getattr(part.get_parameter_source(name), "name", "") == "COMMANDLINE"
                }
                ctx.params |= {name: values.pop(name) for name in OF_ANSWER if name in values}
                given.append(values)
            ctx.params["vs"] = given
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of a usage such as `[OPTIONS] A B [FILE]...`; typer's own add braces,
        and dots where there are some."""
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return [self.options_metavar or "", *map(_argument_usage, arguments)]


def _heading(title: str) -> str:
    """Return a title of --help; it is bold on a terminal, unless NO_COLOR is set."""
    is_bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return typer.style(title, bold=True) if is_bold else title


def _argument_usage(argument: Any) -> str:
    text: str = argument.metavar or argument.name.upper()
    if not argument.required and not text.startswith("["):
        text = f"[{text}]"
    return text if argument.nargs == 1 or "..." in text else f"{text}..."


class PlainValues:
    """Converts the values of a flag, or of a parameter of text, of lists of it or with a parser, in
    place of typer's adapters for any type: these import pydantic, a tenth of the time to start."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert a value as typer's own does, in place of which it is called."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        return [*map(self._convert, value)] if is_list else self._convert(value)


def convert_plainly(parameters: Sequence[Any]) -> None:
    """Convert texts and switches without typer's adapters. Nothing changes for parameters of other
    types, or with a typer that has no such adapters."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            # In --help, an argument is its name and what it means, without a type of Python's.
            parameter.display_type_rich = lambda ctx: ""
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or not hasattr(parameter, "get_runtime_param"):
            continue
        convert = descriptor.parameter_info.parser
        if descriptor.annotation in (str, list[str]):
            convert = convert or str
        elif descriptor.annotation is bool and not parameter.envvar:
            convert = convert or bool
        if convert is not None:
            values = PlainValues(convert)
            parameter.get_runtime_param = lambda values=values: values


def _split_trace(arg: str) -> Sequence[str]:
    option, equals, pod = arg.partition("=")
    return (option, pod) if equals and option == "--trace" else (arg,)


def option(
    help_text: str | None = None,
    metavar: str | None = None,
    *,
    short: str = "",
    name: str = "",
    panel: str | None = None,
    **settings: Any,
) -> Any:
    """Describe an option of a command, beside its type in `Annotated`.

    help_text: else the docstring of the class of options has it; name: else the parameter's, with
    dashes; panel: of --help, None for the command's own options; settings: as typer.Option's
    """
    names = filter(None, (short, name))
    return typer.Option(
        ..., *names, metavar=metavar, help=help_text, rich_help_panel=panel, **settings
    )


def whole_number(
    option: str, least: int | None = None, most: int | None = None
) -> Callable[[str | int], int]:
    """Return a parser of an option's value. It raises UsageError for any other value."""

    def parse(text: str | int) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        is_below = number is not None and least is not None and number < least
        is_above = number is not None and most is not None and number > most
        if number is None or is_below or is_above:
            bound = "" if least is None else f" of at least {least}"
            bound = f" of at most {most:,}" if is_above else bound
            raise UsageError(f'{option} takes a whole number{bound}; not "{text}"')
        return number

    return parse


def timings_target(text: str) -> str:
    """Parse the value of --timings; "" is its absence. Raises UsageError."""
    if text not in ("", TIMINGS_TABLE) and not text.endswith(".json"):
        raise UsageError(
            f'--timings takes "{TIMINGS_TABLE}", or the name of a file that ends in .json; '
            f'not "{text}"'
        )
    return text


def share(option: str) -> Callable[[str | float], float]:
    """Return a parser of an option's value, a share such as 20% or 0.2. It raises UsageError for
    any other value."""

    def parse(text: str | float) -> float:
        number, sign, rest = str(text).partition("%")
        try:
            value = float(number) / (100 if sign else 1)
        except ValueError:
            value = nan
        if rest or not 0 <= value < 1:
            raise UsageError(f'{option} takes a share below 100%, such as 20%; not "{text}"')
        return value

    return parse


def time_limit(text: str | float) -> float:
    """Parse the value of --time-limit: seconds, or a duration such as 30s. Raises UsageError."""
    from ksched_cli.kube.formatting import DurationError, parse_duration

    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parse_duration(str(text)) / 1e9
        except DurationError:
            seconds = -1
    if not 0 <= seconds < float("inf"):
        raise UsageError(f'--time-limit takes a duration, such as 30s; not "{text}"')
    return seconds


def positive_number(option: str, expected: str = "a number") -> Callable[[str | float], float]:
    """Return a parser of an option's value. It raises UsageError for any other value; 0, which only
    a default is, passes."""

    def parse(text: str | float) -> float:
        try:
            number = float(text)
        except ValueError:
            number = nan
        if text != 0 and not 0 < number <= MAX_SECONDS:
            raise UsageError(f'{option} takes {expected} above 0; not "{text}"')
        return number

    return parse


def size_in_bytes(option: str) -> Callable[[str | int], int]:
    """Return a parser of a size, such as 16Gi. It raises UsageError for any other value."""

    def parse(text: str | int) -> int:
        if isinstance(text, int):
            return text
        from ksched_cli.kube.quantity import Quantity, QuantityError

        try:
            size = Quantity.parse(text).value()
        except QuantityError:
            size = 0
        if size <= 0:
            raise UsageError(f'{option} takes a size, such as 16Gi; not "{text}"')
        return size

    return parse
