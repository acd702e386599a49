"""Passwords, tokens and keys as ***: the one rule for whatever ksched prints.

In a text, these are a URL's password, or its user where there is no password, and its parameters
that are named as secrets are. In plain data, these are also the values of fields that are named so.
Go's URL.Redacted hides the password alone, and kube-scheduler prints some URLs whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

MASK = "***"
_SECRETS = (
    "password|passwd|passphrase|pwd|token|secret|credential|apikey|accesskey|privatekey|keydata"
    "|signature|bearer|authorization|cookie"
)
# A password may contain anything but a space or the quotes around the URL. What follows a host and
# a colon is a port if it consists of digits up to the path.
_USER_INFO = re.compile(
    r'(://)(?:([^/?#\s"@:]*):(?!\d*(?:[/?#\s"]|$))(?:[^\s"\\]|\\.)*|[^/?#\s"@:]+)@', re.MULTILINE
)
_PARAMETER = re.compile(rf'([?&][^=&\s"]*(?:{_SECRETS}|sig|key|auth)[^=&\s"]*=)[^&#\s"]+', re.I)
_SECRET_FIELD = re.compile(_SECRETS)
# Fields that only name or bound a secret, such as tokenFile.
_ABOUT_SECRETS = re.compile(
    "(file|path|name|namespace|ref|url|type|ttl|seconds|timeout|duration|enabled|size|count|limit"
    "|max|min|weight)$"
)
# Parts of a path that name a plugin, which may be called TokenBucket.
_PLUGIN_NAMES = re.compile(r"^plugins\..*|^args\.[^.]*|(?:pluginConfig|enabled|disabled)\[[^\]]*\]")
_URL_FIELD = "urlPrefix"
_LETTERS = re.compile(r"[^a-z]")


def masked(text: str) -> str:
    """Return the text without the secrets of the URLs in it."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(rf"\1{MASK}", _USER_INFO.sub(_masked_user, text))


def masked_url(url: str) -> str:
    """Return a URL, also one that lacks its scheme, without its secrets."""
    return masked(url) if "://" in url else masked(f"://{url}").removeprefix("://")


def _masked_user(match: re.Match[str]) -> str:
    user = match[2]
    return f"{match[1]}{MASK}@" if user is None else f"{match[1]}{user}:{MASK}@"


def is_secret_field(name: str) -> bool:
    """Return whether the field's name says that its value is a password, a token or a key."""
    letters = _LETTERS.sub("", name.lower())
    return bool(_SECRET_FIELD.search(letters)) and not _ABOUT_SECRETS.search(letters)


def masked_data(data: Any, field: str = "") -> Any:
    """Plain data without secrets. field: its name, or its path, such as args.Plugin.token"""
    is_empty = data is None or isinstance(data, bool) or data in ("", [], {}, ())
    if not is_empty and any(map(is_secret_field, _PLUGIN_NAMES.sub("", field).split("."))):
        return MASK
    if isinstance(data, str):
        return masked_url(data) if field.endswith(_URL_FIELD) else masked(data)
    if isinstance(data, Mapping):
        # A list of headers or variables has {name, value}.
        named = data.get("name")
        return {
            key: masked_data(value, named if key == "value" and isinstance(named, str) else key)
            for key, value in data.items()
        }
    return [masked_data(item) for item in data] if isinstance(data, list | tuple) else data


def _masked_prefix(match: re.Match[str]) -> str:
    """Return a URL that may lack its scheme, after its key."""
    return match[1] + masked_url(match[2])


# -- lines of a file ------------------------------------------------------------------------------

_KEY = re.compile(r"""["']?([\w.$/-]+)["']?[ \t]*[:=](?=[ \t"'\[{|>]|$)""")
_NAMED = re.compile(r"""\bname["']?[ \t]*:[ \t]*["']?([\w.$/-]+)""")
_VALUE = re.compile(r"""\bvalue["']?[ \t]*:""")
_URL_VALUE = re.compile(rf"""(\b{_URL_FIELD}["']?[ \t]*:[ \t]*["']?)([^\s"']+)""")


def without_secrets(lines: Sequence[str]) -> list[str]:
    """Return the lines of a YAML or JSON text without the values of fields whose names say that
    these are secrets; a text that cannot be parsed has lines, too.

    What follows such a field on its line is masked, then each line that is indented by more.
    """
    named = [any(is_secret_field(name) for name in _NAMED.findall(line)) for line in lines]
    named = [False, *named, False]
    shown = []
    column, is_open = -1, False  # of the last secret field; it has no value on its line
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        inside = 0 <= column < indent or (
            is_open and bool(line.strip()) and (line[indent] == "-" or not _KEY.search(line))
        )
        if inside and line.strip():
            shown.append(line[:indent] + MASK)
            is_open = is_open and line[indent] == "-"
            continue
        if not line.strip():
            shown.append(line)
            continue
        ends = [
            (match.end(), match.start())
            for match in _KEY.finditer(line)
            if is_secret_field(match[1])
        ]
        if any(named[number : number + 3]):
            ends += [(match.end(), match.start()) for match in _VALUE.finditer(line)]
        if not ends:
            column, is_open = -1, False
            shown.append(_URL_VALUE.sub(_masked_prefix, masked(line)))
            continue
        end, column = min(ends)
        is_open = not line[end:].strip()
        shown.append(masked(line[:end]) + (f" {MASK}" if not is_open else ""))
    return shown
