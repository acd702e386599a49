"""From a plain function over the library to a command of typer's.

The function takes an object of options, which has those that it shares with others
(commands/options.py) and its own, beside its arguments, and returns an exit code. typer knows
neither: it gets one parameter per option, and `typer.Exit`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from ksched_cli.commands import completion
from ksched_cli.commands.command_line import (
    option,
    positive_number,
    time_limit,
    whole_number,
)
from ksched_cli.commands.options import (
    EVERY_FIELD,
    CommonOptions,
    ShownOptions,
    StateOptions,
)
from ksched_cli.commands.output import SETTINGS, command_output
from ksched_cli.errors import ExitCode, PluginDefectError, UsageError
from ksched_cli.kube.streams import LIMIT, MAX_SIZE
from ksched_cli.report.forms import Form

DEBUG_HINT = "--debug prints the traceback"


def as_command(function: Callable[..., ExitCode]) -> Callable[..., None]:
    """Return the function with the fields of its options objects as parameters, for
    `app.command()`."""
    hints = get_type_hints(function, include_extras=True)
    objects: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = _parameters(function, hints, objects)
    of_runs = {
        name: [parameter.name for parameter in _options_of_runs(options, function.__name__)]
        for name, options in objects.items()
    }

    @wraps(function)
    def command(**values: Any) -> None:
        for name, options in objects.items():
            taken = {each.name: values.pop(each.name) for each in _taken(options)}
            if of_runs[name]:
                taken["given"] = {each: values.pop(each) for each in of_runs[name]}
            values[name] = _with_page(options(**taken))
            _configure_output(values[name])
        _refuse_idle(values)
        with command_output():
            try:
                code = function(**values)
            except PluginDefectError as defect:
                is_debug = getattr(values.get("options"), "debug", False)
                more = f"\n{defect.detail}" if is_debug else f"\n  {DEBUG_HINT}"
                raise PluginDefectError(f"{defect}{more}", defect.detail) from None
        raise typer.Exit(code)

    spread: Any = command
    spread.__signature__ = signature(function).replace(
        parameters=parameters, return_annotation=None
    )
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _configure_output(options: object) -> None:
    SETTINGS.debug = getattr(options, "debug", False)
    SETTINGS.timings = getattr(options, "timings", "")
    SETTINGS.quiet = getattr(options, "quiet", False)
    SETTINGS.verbose = getattr(options, "verbose", False)
    LIMIT.size = getattr(options, "max_state_size", MAX_SIZE)
    if isinstance(options, CommonOptions):
        SETTINGS.everything = getattr(options, "everything", True)
        SETTINGS.pager = not options.no_pager
        SETTINGS.browser = options.open_page


def _with_page(options: Any) -> Any:
    """Return the options; --open asks for the page if no other form is asked for. Raises
    UsageError."""
    if not isinstance(options, CommonOptions):
        return options
    if options.open_page and options.output is Form.TABLE:
        options = replace(options, output=Form.HTML)
    if options.open_page and options.output is not Form.HTML:
        raise UsageError(f"--open cannot be combined with -o {options.output.value}")
    if options.output is Form.HTML and not options.open_page and sys.stdout.isatty():
        raise UsageError(
            "-o html prints a page: redirect it to a file, such as `> page.html`, or add --open"
        )
    return options


def _refuse_idle(values: Mapping[str, Any]) -> None:
    """Refuse a shared option that would do nothing. Raises UsageError. values: by parameter"""
    options = values.get("options")
    if not isinstance(options, StateOptions):
        return
    if options.everything and options.output not in (Form.TABLE, Form.WIDE, Form.MARKDOWN):
        raise UsageError(f"--all has no effect with -o {options.output.value}")
    given = options.given
    if given["live"]:
        return  # where not all namespaces may be listed, it is of the one that is
    names = values.get("pod") or values.get("traced") or given["change"] or given["scenario"]
    names = names or getattr(options, "manifest", None) or given.get("filename")
    names = names or getattr(options, "listen", None)  # changes come over the network
    if given["namespace"] and not names and not isinstance(options, ShownOptions):
        raise UsageError(
            "-n has no effect here: it sets the namespace of POD and of names in changes"
        )


def _parameters(
    function: Callable[..., ExitCode], hints: dict[str, Any], objects: dict[str, Any]
) -> list[Parameter]:
    """Return a parameter per option and argument."""
    of_objects = [
        each
        for options in objects.values()
        for each in (*_options_of_runs(options, function.__name__), *_options(options))
    ]
    own = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in signature(function).parameters.items()
        if name not in objects
    ]
    for parameter in own:
        for mark in get_args(parameter.annotation):
            _name_option(mark, parameter.name)
    return [*of_objects, *own]


def _options(options: Any) -> Iterator[Parameter]:
    """Yield a parameter per field: its type with an option, which the docstrings describe unless it
    describes itself. A class says in PANELS which of its options only --help-all shows, by
    panel."""
    panels = getattr(options, "PANELS", {})
    panel_of = {name: panel for panel, names in panels.items() for name in names}
    described = _descriptions(CommonOptions) | _descriptions(options)
    hints = get_type_hints(options, include_extras=True)
    for field in _taken(options):
        hint = hints[field.name]
        kind, mark = get_args(hint) if get_origin(hint) is Annotated else (hint, option())
        mark = copy(mark)
        metavar, text = described.get(field.name, (None, None))
        mark.help, mark.metavar = mark.help or text, mark.metavar or metavar
        mark.rich_help_panel = mark.rich_help_panel or panel_of.get(field.name)
        _name_option(mark, field.name)
        default = Parameter.empty if field.default is MISSING else field.default
        parameter = Parameter(field.name, Parameter.KEYWORD_ONLY, default=default)
        yield parameter.replace(annotation=Annotated[kind, mark])


def _options_of_runs(options: Any, command: str) -> Iterator[Parameter]:
    """Yield a parameter per option of the fields of a Run that the command takes."""
    takes, leaves = getattr(options, "TAKES", ()), getattr(options, "LEAVES", ())
    if not takes:
        return
    from ksched_cli.run.axes import options_of
    from ksched_cli.run.run import FIELDS

    taken = [
        each
        for each in FIELDS
        if (takes == EVERY_FIELD or each.name in takes) and each.name not in leaves
    ]
    help_texts = getattr(options, "HELP", {})
    marked = [each for each in options_of(taken) if not each[1].only or command in each[1].only]
    for each, mark in marked:
        typed, default = each.typed(mark), each.default
        kind: Any = str
        settings: dict[str, Any] = {}
        if each.nested is not None or isinstance(default, bool):
            kind, default = bool, False
        elif isinstance(default, tuple):
            kind, default = list[str] | None, None
        elif each.type is float:
            kind = float
            parser = time_limit if typed == "--time-limit" else positive_number(typed)
            settings = {"parser": parser, "show_default": False}
        elif each.type in (int, int | None):
            kind = each.type
            settings = {"parser": whole_number(typed)}
        if mark.variable:
            settings |= {"envvar": mark.variable, "show_envvar": mark.shows_variable}
        if mark.completes:
            settings["autocompletion"] = getattr(completion, f"complete_{mark.completes}")
        own = help_texts.get(each.name)  # then it is the command's own, beside its others
        about = option(
            own or mark.help,
            mark.metavar or None,
            short=mark.short,
            name=typed,
            panel=None if own else mark.panel,
            **settings,
        )
        parameter = Parameter(each.parameter(mark), Parameter.KEYWORD_ONLY, default=default)
        yield parameter.replace(annotation=Annotated[kind, about])


def _descriptions(options: Any) -> dict[str, tuple[str | None, str]]:
    """Return, by field, its metavar and help, from `field METAVAR: help` in the docstrings of the
    class and its bases; a line that is indented continues the one above it."""
    described = {}
    for base in reversed(options.__mro__):
        text = re.sub(r"\n {4,}", " ", cleandoc(base.__doc__ or ""))
        for name, metavar, about in re.findall(r"^(\w+)(?: (\S+))?: (.+)$", text, re.MULTILINE):
            described[name] = metavar or None, about
    return described


def _taken(options: Any) -> list[Field[Any]]:
    """Return the fields of an object of options, without those that the command does without."""
    without = (*getattr(options, "WITHOUT", ()), "given")
    return [field for field in fields(options) if field.name not in without]


def _name_option(mark: Any, name: str) -> None:
    """Name an option as its parameter, unless it has a name."""
    if isinstance(mark, OptionInfo) and "--" not in "".join(mark.param_decls or ()):
        mark.param_decls = (*(mark.param_decls or ()), f"--{name.replace('_', '-')}")
