"""Plain data as JSON for people, terminals and files."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

# What JSON need not escape, and terminals and encodings take amiss: DEL, which jq escapes too, the
# control characters from U+0080 on, and halves of surrogate pairs.
_UNPRINTED = re.compile(r"[\x7f-\x9f\ud800-\udfff]")


def shown_json(data: Any) -> str:
    """Return indented JSON, with letters as they are and every control character escaped."""
    try:
        text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json.dumps(data, indent=2, ensure_ascii=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNPRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
