"""Our own messages for what a command line does not take, with what was likely meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import typer

from ksched_cli import program_name
from ksched_cli.errors import KschedError, UsageError
from ksched_cli.kube.near_names import nearest

# Any error in a command line: a class of click, or of typer's own copy of it, which exports
# BadParameter alone.
CommandLineError: type[Exception] = typer.BadParameter.__bases__[0]

# Commands of kubectl, linters and other tools, and those here that answer what they are typed for.
SYNONYMS = {
    "analyze": ("explain",),
    "apply": ("schedule", "capacity"),
    "check": ("validate",),
    "debug": ("explain",),
    "describe": ("explain",),
    "diagnose": ("explain",),
    "diff": ("config diff", "compare"),
    "dump": ("snapshot",),
    "events": ("explain",),
    "evict": ("preempt", "fix"),
    "fit": ("capacity",),
    "forecast": ("replay --from-now",),
    "get": ("status",),
    "lint": ("validate",),
    "list": ("status",),
    "logs": ("explain",),
    "migrate": ("config migrate",),
    "nodes": ("status",),
    "pending": ("explain --pending",),
    "plan": ("capacity", "compare", "shrink"),
    "pods": ("explain",),
    "run": ("schedule",),
    "simulate": ("schedule",),
    "top": ("status",),
    "version": ("--version",),
    "what-if": ("compare",),
    "whatif": ("compare",),
    "who": ("preempt",),
    "why": ("explain",),
}
_LISTED = re.compile(r" \((.*)\)$")
_MISSING_OPTION = re.compile(r"Missing option '([^']*)'")
# What every change takes, and short forms.
_OF_CHANGES = ("-", "--namespace", "-n", "-l", "-f", "-p", "-c")
_SUFFIXES = (".yaml", ".yml", ".json", ".gz")


def described(error: Exception, arguments: Sequence[str]) -> KschedError:
    """Return a CommandLineError as one of ours. arguments: of the whole command line"""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ksched"
    option: str = getattr(error, "option_name", "")
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    if hasattr(error, "possibilities"):
        word = option.lstrip("-")
        options = [name[2:] for each in context.command.params for name in each.opts if name[2:]]
        longer = (name for name in options if word[1:] and name.startswith(word))
        near = next(longer, "") or nearest(word, options)
        hint = f"did you mean --{near}?" if near else f"{_help(context)} lists its options"
        return UsageError(f"{path} has no option {option}; {hint}")
    if option and "not take" in message:
        return UsageError(f"{option} takes no value")
    if option:
        return UsageError(f"{option} requires a value")
    if message.startswith("No such command"):
        return UsageError(_unknown_command(context, message, arguments))
    if message.startswith("Missing argument"):
        names = " ".join(context.command.collect_usage_pieces(context)[1:])
        return UsageError(f"{names} is missing: {path} {names}")
    missing = _MISSING_OPTION.match(message)
    if missing is not None:
        return UsageError(f"{missing[1]} is missing; {_help(context)} says what it takes")
    extra = _LISTED.search(message)
    if "unexpected extra" in message and extra is not None:
        return unexpected_argument(context, extra[1])
    return UsageError(message)


def unexpected_argument(context: Any, text: str) -> UsageError:
    """Return the error about an argument that a command does not take: perhaps a file that an
    option takes, or the name in kubectl's `pod NAME`. context: of typer"""
    path = context.command_path
    hint = f"{_help(context)} says what it does"
    options = {name for parameter in context.command.params for name in parameter.opts}
    kind = context.params.get("pod")
    if text.endswith(_SUFFIXES) and "--state" in options:
        hint = f"did you mean --state {shlex.quote(text)}?"
    elif isinstance(kind, str) and " " not in text:
        from ksched_cli.scenario.objects import kind_of

        what = kind_of(kind)
        if what is not None and what.name == "Node":
            hint = f"did you mean {program_name()} drain {text}, or {path} POD --node {text}?"
        elif what is not None:
            hint = f"did you mean {path} {kind}/{text}?"
    return UsageError(f'{path} takes no argument "{text}"; {hint}')


def _unknown_command(context: Any, message: str, arguments: Sequence[str]) -> str:
    """Name the commands that are like the word, or that do what it stands for elsewhere, with the
    arguments that were given."""
    from ksched_cli.scenario.file import VERBS

    path = context.command_path
    depth = len(path.split()) - 1  # of groups
    word, *rest = arguments[depth + (arguments[:1] == ["help"]) :] or [""]
    if not depth and word in SYNONYMS:
        commands = SYNONYMS[word]
        if commands == ("explain",):
            commands, rest = _about_object(rest)
        elif commands == ("status",):
            rest = []  # it takes no names
        given = shlex.join(rest) if len(commands) == 1 else ""
        lines = [f"{path} {command} {given}".rstrip() for command in commands]
    elif not depth and word in {verb.partition(" ")[0] for verb in VERBS}:
        # What no change takes, and all that follows it, is for the command.
        takes = {*_OF_CHANGES, *(flag for verb in VERBS.values() for flag in verb.flags)}
        is_other = [each[:1] == "-" and each.partition("=")[0] not in takes for each in rest]
        end = is_other.index(True) if any(is_other) else len(rest)
        given = shlex.join(["compare", *rest[end:], "--vs", "--change"])
        lines = [f"{path} {given} {shlex.quote(shlex.join([word, *rest[:end]]))}"]
    else:
        near = re.findall(r"'([^']+)'", message)[1:]
        lines = [f"{path} {name}" for name in near]
    hint = f"did you mean {_alternatives(lines)}?" if lines else f"{_help(context)} lists them"
    return f'{path} has no command "{word}"; {hint}'


def _about_object(arguments: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the command about what is described, and its arguments: nodes are no subject of
    explain."""
    kind, *rest = arguments or [""]
    if kind in ("node", "nodes", "no"):
        return (("drain",), rest) if rest else (("status",), [])
    if rest and kind in ("pod", "pods", "po"):
        return ("explain",), [f"pod/{rest[0]}", *rest[1:]]
    return ("explain",), [*arguments]


def _help(context: Any) -> str:
    return f"{context.command_path} --help" if context is not None else "ksched --help"


def _alternatives(names: Sequence[str]) -> str:
    *first, last = names or ("",)
    return f"{', '.join(first)} or {last}" if first else last
