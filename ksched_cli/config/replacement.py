"""A file with another text in the place of a configuration that it holds."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.config.embedded import ConfigurationText, configurations_in
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.documents import read_file
from ksched_cli.kube.yaml_errors import YamlError


def with_text(source: ConfigurationText, text: str, path: str) -> bytes:
    """The bytes of the file with the text in the place of the source's.

    Raises UsageError where the configuration has no lines of its own in the file, as in a quoted
    string: what is written must be what is read again.
    """
    if not source.object:
        return text.encode()
    place = source.place
    lines = read_file(path)[0].decode("utf-8").splitlines(keepends=True)
    begin = place.line - 1
    end = begin + len(source.text.splitlines())
    prefix, indent = lines[begin][: place.indent], " " * place.indent
    new = [f"{indent}{line}" if line.strip() else line for line in text.splitlines(keepends=True)]
    if prefix.strip():  # as "- " of a list
        new[0] = prefix + new[0][place.indent :]
    content = "".join([*lines[:begin], *new, *lines[end:]]).encode()
    if not place.line_by_line or not _holds(content, source, text):
        command = f"{program_name()} config migrate {path}"
        hint = f"print the new configuration with `{command}`, and put it there"
        raise UsageError(f"{source.name} cannot be written in its place; {hint}")
    return content


def _holds(content: bytes, source: ConfigurationText, text: str) -> bool:
    try:
        held = configurations_in(content, source.path)
    except (InputError, YamlError):
        return False
    own = [item.text for item in held if item.object == source.object]
    return [item.rstrip() for item in own] == [text.rstrip()]
