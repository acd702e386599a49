"""How much work a call is: lines of Python, which are the same every time, and seconds of the
processor, which what C does takes too."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from ksched_cli.errors import KschedError

Call = Callable[[], object]


def lines_of(call: Call) -> int:
    """How many lines of Python run in a call, whatever it raises for its input."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    former = sys.gettrace()  # a measurement of coverage goes on afterwards
    sys.settrace(trace)
    try:
        with suppress(KschedError):
            call()
    finally:
        sys.settrace(former)
    return count


def seconds_of(call: Call) -> float:
    """Seconds of the processor that a call takes, whatever it raises for its input."""
    began = time.thread_time()
    with suppress(KschedError):
        call()
    return time.thread_time() - began
