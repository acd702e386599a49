"""Splits the line of a change into names and flags, as kubectl does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ksched_cli.kube.selectors import parse_int64
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.workloads import MAX_PODS

# Blanks between tokens, or a part of a token: plain, a character after a backslash, in quotes.
_PART = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|(?P<plain>[^ \t\r\n"'\\]+)|\\(?P<escaped>.)"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>[^']*)'""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')
_SHORT = {
    "-n": "--namespace",
    "-l": "--selector",
    "-c": "--containers",
    "-p": "--patch",
    "-f": "--filename",
    "-A": "--all-namespaces",
    "-i": "--interactive",
    "-o": "--output",
    "-s": "--server",
    "-v": "--v",
}
_EVERY_VERB = {"--namespace": True}
# Flags of kubectl's that only matter to a real cluster or to a terminal: whether they take a value.
_IGNORED: Mapping[str, bool] = {
    **dict.fromkeys(
        (
            "--as", "--as-group", "--as-uid", "--cache-dir", "--certificate-authority",
            "--chunk-size", "--client-certificate", "--client-key", "--cluster", "--context",
            "--field-manager", "--grace-period", "--kubeconfig", "--output", "--request-timeout",
            "--server", "--skip-wait-for-delete-timeout", "--template", "--timeout",
            "--tls-server-name", "--token", "--user", "--v",
        ),
        True,
    ),
    # Their value, if there is one, follows "=".
    **dict.fromkeys(
        (
            "--allow-missing-template-keys", "--disable-compression", "--dry-run", "--force",
            "--force-conflicts", "--ignore-errors", "--insecure-skip-tls-verify", "--interactive",
            "--match-server-version", "--now", "--openapi-patch", "--record", "--save-config",
            "--server-side", "--show-labels", "--show-managed-fields", "--validate", "--wait",
            "--warnings-as-errors",
        ),
        False,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arguments:
    """The line of a change without its verb.

    text:      the whole line
    names:     what is not a flag, in order
    flags:     long name → value, "true" for a flag that takes none; of a repeated one the last
    values:    long name → all values, in order
    namespace: of -n, else the one that holds for all changes; "" where neither is given
    folder:    what paths in the line are relative to
    ignored:   flags of kubectl's that change nothing here, as written
    """

    text: str
    names: tuple[str, ...]
    flags: Mapping[str, str]
    namespace: str = ""
    folder: Path = Path()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def error(self, problem: str) -> ChangeError:
        return ChangeError(self.text, problem)

    def pairs(self, flag: str) -> dict[str, str]:
        """The values of a repeatable flag, as KEY=VALUE. Raises ChangeError."""
        pairs = {}
        for text in self.values.get(flag, ()):
            key, separator, value = text.partition("=")
            if not key or not separator:
                raise self.error(f'{flag} is "{text}"; it takes KEY=VALUE')
            pairs[key] = value
        return pairs

    def has(self, flag: str) -> bool:
        """Whether a flag without a value is on."""
        return self.flags.get(flag, "false") != "false"

    def count(self, flag: str) -> int:
        """A whole number from 0 to MAX_PODS. Raises ChangeError."""
        text = self.flags.get(flag)
        if text is None:
            raise self.error(f"{flag}=N is missing")
        number = parse_int64(text)
        if number is None or number < 0:
            raise self.error(f'{flag} is "{text}"; it takes a whole number')
        if number > MAX_PODS:
            raise self.error(f"{flag} is {number}; it takes at most {MAX_PODS}")
        return number


def split_line(text: str) -> tuple[str, ...]:
    """The tokens of a line, quotes undone, without a leading "kubectl". Raises ChangeError.

    As shlex.split, which copies a token for each of its characters.
    """
    parts: list[list[str]] = [[]]
    end = 0
    while match := _PART.match(text, end):
        end = match.end()
        if match["blank"]:
            parts.append([])
        elif match["double"] is not None:
            parts[-1].append(_ESCAPED.sub(r"\1", match["double"]))
        else:
            parts[-1].append(match[match.lastgroup or 0])
    if end < len(text):
        problem = "no escaped character" if text[end] == "\\" else "no closing quotation"
        raise ChangeError(text, f"cannot be read: {problem}")
    tokens = tuple("".join(part) for part in parts if part)
    return tokens[1:] if tokens[:1] == ("kubectl",) else tokens


def read_arguments(
    text: str,
    tokens: Sequence[str],
    takes_value: Mapping[str, bool],
    namespace: str,
    folder: Path,
) -> Arguments:
    """tokens: the line after its verb. takes_value: the verb's flags, and which have a value.

    Raises ChangeError.
    """
    takes_value = {**_EVERY_VERB, **takes_value}
    names: list[str] = []
    flags: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    ignored: list[str] = []
    rest = iter(tokens)
    for word in rest:
        if word.startswith("-") and word != "-":
            flag, value = _read_flag(text, word, takes_value, rest)
            if flag in takes_value:
                flags[flag] = value
                values.setdefault(flag, []).append(value)
            else:
                ignored.append(word)
        else:
            names.append(word)
    namespace = flags.pop("--namespace", namespace)
    return Arguments(text, tuple(names), flags, namespace, folder, values, tuple(ignored))


def _read_flag(
    text: str, token: str, takes_value: Mapping[str, bool], rest: Iterator[str]
) -> tuple[str, str]:
    """The flag's long name and its value, which may be the next token."""
    written, has_value, value = token.partition("=")
    if not token.startswith("--") and token[:2] in _SHORT and len(token) > 2:
        written, has_value, value = token[:2], "=", token[2:].removeprefix("=")
    flag = _SHORT.get(written, written)
    flag = "--containers" if flag == "--container" else flag
    every_flag = {**_IGNORED, **takes_value}
    if flag not in every_flag:
        near = get_close_matches(flag, takes_value, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(takes_value)}"
        raise ChangeError(text, f'unknown flag "{written}"{hint}')
    if has_value:
        return flag, value
    if not every_flag[flag]:
        return flag, "true"
    value = next(rest, "")
    if not value:
        raise ChangeError(text, f"{written} takes a value")
    return flag, value
