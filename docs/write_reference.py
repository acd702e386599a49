#!/usr/bin/env python3
"""Writes the reference from the code: docs/commands.md, files.md, plugin-api.md,
plugin-interface.md; manual pages.

write_reference.py                 the pages
write_reference.py --check         exit 1 where a page is not what the code gives
write_reference.py --interface FOLDER    the members of kube-scheduler's interfaces for plugins,
                                   in Go files, that docs/upstream_interface.yaml lacks
write_reference.py --man FOLDER    a manual page for each command, ksched.1, ksched-explain.1, …
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from ksched_cli import __version__, api, testing
from ksched_cli.commands.command_line import COMMON, convert_plainly
from ksched_cli.commands.main import PANELS, application
from ksched_cli.engine.records import Attempt, RunRecord

DOCS = Path(__file__).resolve().parent
SCHEMAS = DOCS.parent / "schemas"
# What scripts may rely on, of every command.
EXIT_CODES: Mapping[int, str] = {
    0: "done, and the answer is yes: valid; every pod found a node; the pod fits; nothing differs; "
    "every expectation holds",
    1: "done, and the answer is no: invalid; pods stay pending (gated ones do not count); the pod "
    "fits nowhere; something differs; an expectation fails",
    2: "could not run: wrong usage, a file that is missing or broken, standard output that "
    "cannot be written, a cluster that does not answer",
    3: "a defect of ksched or of a plugin, also where it left only some pods undecided",
    130: "interrupted by Ctrl-C; finished work is kept where an option says so",
    141: "the reader of standard output closed the pipe, as `| head` does",
}
# The environment variables that decide something.
ENVIRONMENT = {
    "KSCHED_STATE": "the state to read without --state",
    "KSCHED_CONFIG": "the configuration to use without --config",
    "KSCHED_KUBERNETES_VERSION": "the Kubernetes version to use without --kubernetes-version",
    "KUBECONFIG": "the kubeconfig of --live, snapshot, record and serve",
    "COLUMNS": "the width of tables; default that of the terminal, else 100",
    "NO_COLOR": "no colours if not empty",
    "PAGER": "the program for tables longer than the terminal; default less",
}
WRITTEN = "<!-- written by docs/write_reference.py -->"
COMPLETION = """\
`ksched --install-completion` sets up bash, zsh, fish or PowerShell: it completes commands, options,
pods, namespaces, workloads, and the words of changes. `kubectl ksched …` is the same program, and
kubectl completes it with `kubectl_complete-ksched`
([get the data](get-the-data.md#from-a-live-cluster)). A release has manual pages:
`man ksched-explain`."""
# Lines of help that no page repeats.
OPTION = re.compile(r"--[a-z-]+")
_SKIPPED = {"help", "install_completion", "show_completion"}


def main() -> int:
    if sys.argv[1:2] == ["--man"]:
        write_manuals(Path(sys.argv[2]))
        return 0
    if sys.argv[1:2] == ["--interface"]:
        lacking = lacking_members(Path(sys.argv[2]))
        print(*lacking, sep="\n")
        return 1 if lacking else 0
    pages = {
        "commands.md": commands_page(),
        "files.md": files_page(),
        "plugin-api.md": plugin_api_page(),
        "plugin-interface.md": interface_page(),
    }
    stale = [
        name
        for name, text in pages.items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]
    if "--check" not in sys.argv[1:]:
        for name in stale:
            (DOCS / name).write_text(pages[name], encoding="utf-8")
        return 0
    if stale:
        print(f"{', '.join(stale)} out of date: python docs/write_reference.py", file=sys.stderr)
    return 1 if stale else 0


def commands() -> Iterator[tuple[str, str, Any, Any]]:
    """Panel, name, command and context of every command, in the order of --help."""
    root: Any = typer.main.get_command(application())
    with root.make_context("ksched", [], resilient_parsing=True) as context:
        for panel, names in PANELS.items():
            for name in names:
                for path, command in _leaves(root.commands[name], name):
                    convert_plainly(command.get_params(context))
                    inner = type(context)(command, info_name=path, parent=context)
                    yield panel, path, command, inner


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for inner, leaf in command.commands.items():
        yield from _leaves(leaf, f"{name} {inner}")


def _usage(name: str, command: Any, context: Any) -> str:
    return " ".join(("ksched", name, *command.collect_usage_pieces(context)))


def _parameters(command: Any, context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each panel's title, with its parameters as in --help."""
    for panel, parameters in command.panels(context).items():
        rows = [p.get_help_record(context) for p in parameters if p.name not in _SKIPPED]
        if rows:
            yield panel, [(name, " ".join(text.split())) for name, text in rows]


def commands_page() -> str:
    described = list(commands())
    lines = [WRITTEN, "# Commands", ""]
    lines += [
        "`ksched COMMAND --help-all` prints the same in a terminal; `--help` fits a screen.",
        "",
    ]
    for panel in PANELS:
        links = (f"[{n}](#ksched-{n.replace(' ', '-')})" for p, n, _, _ in described if p == panel)
        lines += [f"- {panel}: {', '.join(links)}"]
    lines += ["", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {code} | {_cell(meaning)} |" for code, meaning in EXIT_CODES.items()]
    lines += ["", "Results go to standard output, everything else to standard error.", ""]
    lines += ["## Environment", "", "| variable | meaning |", "| --- | --- |"]
    lines += [f"| `{name}` | {_cell(meaning)} |" for name, meaning in ENVIRONMENT.items()]
    shared: dict[str, dict[str, str]] = {panel: {} for panel in COMMON}
    # Where the common options of each command are told.
    places: list[tuple[int, list[str]]] = []
    lines += ["", "## Completion and manual pages", "", COMPLETION]
    for _, name, command, context in described:
        lines += ["", f"## ksched {name}", "", "```", _usage(name, command, context), "```", ""]
        lines += [_prose(command.help)]
        lines += ["", "```", *command.examples, "```"]
        common: list[str] = []
        for panel, rows in _parameters(command, context):
            if panel in COMMON:
                shared[panel] |= dict(rows)
                common += [_option(option) for option, _ in rows]
            else:
                lines += ["", *_table(panel, rows)]
        if common:
            lines += ["", ""]
            places.append((len(lines) - 1, common))
    every = [_option(each) for options in shared.values() for each in options]
    for place, common in places:
        lines[place] = f"[Common options](#common-options): {_some_of(common, every)}"
    lines += ["", "## Common options", "", "They mean the same in every command that has them.", ""]
    for panel, options in shared.items():
        lines += [*_table(panel, options.items()), ""]
    return "\n".join(lines).rstrip() + "\n"


def _some_of(names: Sequence[str], every: Sequence[str]) -> str:
    """Name them, or those of all that are not among them, whichever are fewer."""
    others = [name for name in every if name not in names]
    if len(others) > len(names):
        return ", ".join(names)
    return f"all but {', '.join(others)}" if others else "all"


def _option(record: str) -> str:
    return f"`{OPTION.findall(record)[-1]}`"


def _table(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    body = (f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows)
    return [f"| {title} | |", "| --- | --- |", *body]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _prose(text: str) -> str:
    """A text of paragraphs, each on one line, without what Markdown would take for markup."""
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return "\n\n".join(re.sub(r"(?<!`)([*_<])", r"\\\1", part) for part in paragraphs)


def files_page() -> str:
    """The kinds of files that ksched reads, and of documents that it prints, with their schemas."""
    schemas = {path.stem: json.loads(path.read_text()) for path in sorted(SCHEMAS.glob("*.json"))}
    printed = {name: s for name, s in schemas.items() if "prints" in s["title"]}
    lines = [WRITTEN, "# Files and documents", ""]
    lines += ["Every document has `apiVersion: ksched/v1` and `kind`. Fields are only ever added; "]
    lines[-1] += "[stability](stability.md) says what that promises."
    lines += ["", "## Files that ksched reads or writes", ""]
    lines += _schema_table({name: s for name, s in schemas.items() if name not in printed})
    lines += ["", "[In an editor](pipelines.md#in-an-editor) says how editors use them.", ""]
    lines += ["## Documents that commands print", ""]
    lines += ["`-o json` and `-o yaml` print them; the schema describes every field.", ""]
    lines += _schema_table(printed)
    return "\n".join(lines) + "\n"


def _schema_table(schemas: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = ["| kind | schema | what it is |", "| --- | --- | --- |"]
    for name, schema in schemas.items():
        kind = schema.get("properties", {}).get("kind", {})
        kinds = kind.get("enum") or [kind.get("const")]
        code = ", ".join(f"`{each}`" for each in kinds if each)
        title = schema["title"].replace("What ", "what ", 1).replace("what `ksched", "`ksched", 1)
        title = re.sub(r"^`(ksched[^`]*)` (prints|takes)", r"\2 by `\1`", title)
        title = title.replace("prints by", "printed by").replace("takes by", "read by")
        rows.append(f"| {code} | [{name}](../schemas/{name}.json) | {_cell(title)} |")
    return rows


def plugin_api_page() -> str:
    """The objects that plugins are given, the classes of the plugin API with their members, and the
    helpers for tests, from their docstrings."""
    described = (DOCS / "plugin_objects.txt").read_text(encoding="utf-8")
    lines = [WRITTEN, "# Plugin API", "", API_HEAD, "", "## Objects", "", described.rstrip()]
    lines += ["", "# Classes"]
    # The classes of the cluster have more than plugins may rely on.
    for name in sorted(api.__all__, key=str.lower):
        thing = getattr(api, name)
        room = getattr(thing, "__module__", "").split(".")[1:2]
        if not inspect.isclass(thing) or room not in (["framework"], ["cluster"], ["kube"]):
            continue
        lines += ["", f"## {name}", "", _doc(thing)]
        for member, value in vars(thing).items():
            is_listed = re.search(rf"`(?:{name}\.)?{member}[`(]", described) is not None
            if is_listed or (room == ["framework"] and name != "PodGroups"):
                lines += _member(member, value)
    lines += ["", "# Helpers for tests", "", _doc(testing).partition("\n\n")[0]]
    lines += ["Import them from `ksched_cli.testing`."]
    for name, value in vars(testing).items():
        if getattr(value, "__module__", "") == testing.__name__ and inspect.isfunction(value):
            lines += _member(name, value)
    for thing in (Attempt, RunRecord):
        lines += ["", f"## {thing.__name__}", "", _doc(thing)]
        for member, value in vars(thing).items():
            lines += _member(member, value)
    return "\n".join(lines) + "\n"


def _member(name: str, value: Any) -> list[str]:
    """The lines about a method, a function or a property that has a docstring."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    is_property = isinstance(value, property)
    function = value.fget if is_property else value
    if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
        return []
    signature = f": {inspect.signature(function).return_annotation}" if is_property else ""
    return ["", f"**`{name}{signature or _signature(function)}`**", "", _doc(function)]


API_HEAD = f"""\
This is version {api.API_VERSION} of the API. Import everything from `ksched_cli.api`.
[Writing a plugin](writing-a-plugin.md) is the guide."""
INTERFACE_HEAD = """\
# kube-scheduler's interface and this one

What a plugin in Go calls or implements (k8s.io/kube-scheduler/framework of 1.37 and 1.38), and what
stands for it in [the plugin API](plugin-api.md)."""


def interface_members() -> Iterator[tuple[str, str, str]]:
    """Each type and member of kube-scheduler's, and what stands for it here."""
    text = (DOCS / "upstream_interface.yaml").read_text(encoding="utf-8")
    for types, members in yaml.safe_load(text).items():
        for names, here in members.items():
            yield types, names, here


def interface_page() -> str:
    """The table of interfaces. Raises ValueError for a name that the API does not have."""
    described = plugin_api_page()
    lines = [WRITTEN, INTERFACE_HEAD, "", "| kube-scheduler | here |", "| --- | --- |"]
    for types, names, here in interface_members():
        for name, member in re.findall(r"`([A-Z]\w+)(?:\.(\w+))?", here):
            if name not in api.__all__ or (member and not re.search(rf"`{member}\b", described)):
                raise ValueError(f"{types}: {name}.{member} is not in the API")
        lines += [f"| {types}: {names} | {here} |"]
    return "\n".join(lines) + "\n"


def lacking_members(folder: Path) -> list[str]:
    """The members of the interfaces in Go files that `interface_members` lacks."""
    listed = {
        (each, name)
        for types, names, _ in interface_members()
        for each in types.split(", ")
        for name in names.split(", ")
    }
    sources = [path for path in folder.glob("*.go") if not path.name.endswith("_test.go")]
    return [
        f"{interface}.{member}"
        for path in sorted(sources)
        for interface, body in re.findall(
            r"^type (\w+) interface \{\n(.*?)^\}", path.read_text(), re.S | re.M
        )
        for member in re.findall(r"^\t([A-Z]\w+)\(", body, re.M)
        if (interface, member) not in listed
    ]


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [p for name, p in signature.parameters.items() if name not in ("self", "cls")]
    text = str(signature.replace(parameters=parameters))
    return text.replace("''", '""').replace("'", "")


def _doc(thing: Any) -> str:
    """The docstring as Markdown: a list where its lines are `name: meaning`."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r"(?<!`)([*<])", r"\\\1", text)
    return re.sub(r"^([a-z_]\w*(?:, [a-z_]\w*)*): +", r"- `\1`: ", text, flags=re.M)


def write_manuals(folder: Path) -> None:
    """Manual pages in roff, of section 1."""
    folder.mkdir(parents=True, exist_ok=True)
    described = list(commands())
    for _, name, command, context in described:
        page = f"ksched-{name.replace(' ', '-')}"
        summary, _, rest = command.help.partition("\n\n")
        parts = [_title(page, summary), ".SH SYNOPSIS", _roff(_usage(name, command, context))]
        parts += [".SH DESCRIPTION", _roff(rest or summary)]
        for panel, rows in _parameters(command, context):
            parts += [f".SH {panel.upper()}"]
            for option, text in rows:
                parts += [".TP", f".B {_roff(option)}", _roff(text)]
        parts += [".SH EXAMPLES", ".nf", *map(_roff, command.examples), ".fi", *_exit_status()]
        (folder / f"{page}.1").write_text("\n".join(parts) + "\n", encoding="utf-8")
    parts = [_title("ksched", "decide as kube-scheduler does, offline, and say why")]
    parts += [".SH SYNOPSIS", "ksched COMMAND [OPTIONS]"]
    for panel in PANELS:
        parts += [f".SH {panel.upper()}"]
        for _, name, command, _ in (each for each in described if each[0] == panel):
            summary = command.help.partition("\n\n")[0]
            parts += [".TP", f".BR ksched-{_roff(name.replace(' ', '-'))} (1)", _roff(summary)]
    parts += [".SH ENVIRONMENT"]
    for variable, meaning in ENVIRONMENT.items():
        parts += [".TP", f".B {variable}", _roff(meaning)]
    (folder / "ksched.1").write_text("\n".join([*parts, *_exit_status()]) + "\n", encoding="utf-8")


def _title(page: str, summary: str) -> str:
    line = _roff(" ".join(summary.split()).rstrip("."))
    return f'.TH {page.upper()} 1 "" "ksched {__version__}"\n.SH NAME\n{_roff(page)} \\- {line}'


def _exit_status() -> list[str]:
    rows = ([".TP", f".B {code}", _roff(meaning)] for code, meaning in EXIT_CODES.items())
    return [".SH EXIT STATUS", *(line for row in rows for line in row)]


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


if __name__ == "__main__":
    sys.exit(main())
