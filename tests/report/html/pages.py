"""Pages taken apart, for tests: their elements, their data, and which scripts may run."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

# Command line, and `objects` of the state → the document, and the page of the same answer.
PageOf = Callable[..., tuple[dict[str, Any], "Parsed"]]

LOADING = ("src", "srcset", "action", "formaction", "data", "poster", "background")


@dataclass
class Parsed(HTMLParser):
    """tags: with their attributes; text: all that is shown; raw: of script and style elements."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    raw: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag in ("script", "style"):
            self.raw.append((tag, attributes, ""))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and self.cdata_elem:
            tag, attributes, before = self.raw[-1]
            self.raw[-1] = (tag, attributes, before + data)
        elif data.strip():
            self.text.append(" ".join(data.split()))

    @property
    def data(self) -> dict[str, Any]:
        """What the page's script reads."""
        texts = [raw for _, attributes, raw in self.raw if attributes.get("id") == "data"]
        document: dict[str, Any] = json.loads(texts[0])
        return document

    @property
    def policy(self) -> str:
        metas = [attributes for tag, attributes in self.tags if tag == "meta"]
        return next(m["content"] for m in metas if m.get("http-equiv"))

    @property
    def tiles(self) -> dict[str, str]:
        """The numbers at the top, by what they count."""
        texts = self.text
        names = ("placed", "pending", "gated", "evicted", "undecided", "left out", "nodes used")
        return {name: texts[texts.index(name) + 1] for name in names if name in texts}


def parsed(page: str) -> Parsed:
    parser = Parsed()
    parser.feed(page)
    parser.close()
    return parser


def titled(columns: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of a grid's columns by their titles."""
    return {column["title"]: cells(column) for column in columns}


def cells(column: Mapping[str, Any]) -> list[Any]:
    """A column's values, coded or not."""
    if "index" in column:
        return [column["terms"][index] for index in column["index"]]
    return list(column["values"])


def check_stands_alone(page: str) -> Parsed:
    """The page is ASCII, loads nothing, and lets run only what the policy's hashes name."""
    assert page.isascii()
    answer = parsed(page)
    for tag, attributes in answer.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert not [name for name in attributes if name in LOADING], (tag, attributes)
        assert attributes.get("href", "#").startswith(("#", "data:,")), attributes
    for tag, attributes, raw in answer.raw:
        if attributes.get("type") != "application/json":
            digest = b64encode(sha256(raw.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in answer.policy
    assert answer.policy.startswith("default-src 'none'; script-src 'sha256-")
    return answer
