"""Plugins' code: which classes are of it, its exceptions and their texts, and a limit on the time
that one call may take. Does not load NumPy.

A timer of the operating system interrupts the call. Python delivers the signal in the main thread,
between two steps of Python code: a loop in C that never returns to Python is not interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from ksched_cli.errors import UsageError
from ksched_cli.framework.status import MalformedError, MutationError

T = TypeVar("T")


def is_foreign(kind: type) -> bool:
    """Return whether a class is a plugin's code, and not ksched's own."""
    return not kind.__module__.startswith("ksched_cli.")


# What a plugin that catches everything is given time for, and how often it is interrupted again.
INTERVAL_SECONDS = 0.5
MAX_INTERRUPTIONS = 5


class CallInterruption(BaseException):
    """Ends the call from within. No Exception, so that the plugin's own handlers let it pass."""


class CallTimeoutError(Exception):
    """A call took longer than allowed."""


@dataclass(slots=True)
class CallLimit:
    """seconds: for one call and all calls that it makes. One per simulation."""

    seconds: float
    _is_running: bool = False
    _interruptions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Check the thread. Raises UsageError outside of the main thread, which no signal
        reaches."""
        if threading.current_thread() is not threading.main_thread():
            raise UsageError("--plugin-timeout works only in the main thread")

    def call(self, method: Callable[..., T], *arguments: object) -> T:
        """Call the method within the time limit. Raises what the method raises, and
        CallTimeoutError."""
        if self._is_running:
            return method(*arguments)
        handler = signal.signal(signal.SIGALRM, self._interrupt)
        others = signal.getitimer(signal.ITIMER_REAL)
        try:
            try:
                self._start()
                return method(*arguments)
            finally:
                self._is_running = False
        except CallInterruption as interruption:
            raise CallTimeoutError(f"it took longer than {self.seconds:g} s") from interruption
        finally:
            self._is_running = False
            signal.setitimer(signal.ITIMER_REAL, *others)
            signal.signal(signal.SIGALRM, handler)

    def _start(self) -> None:
        self._interruptions = 0
        self._is_running = True
        signal.setitimer(signal.ITIMER_REAL, self.seconds, INTERVAL_SECONDS)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._is_running:
            return
        self._interruptions += 1
        if self._interruptions > MAX_INTERRUPTIONS:
            print(
                f"error: a plugin took longer than {self.seconds:g} s and cannot be stopped, "
                "because it catches BaseException",
                file=sys.stderr,
                flush=True,
            )
            os._exit(3)
        raise CallInterruption


# Other exceptions are not a plugin's own: they end a test, or the run.
FAILURES = (Exception, SystemExit, GeneratorExit, KeyboardInterrupt)

# Their text says all.
_WITHOUT_TYPE = (MalformedError, MutationError, CallTimeoutError)


def raise_users_interrupt(error: BaseException) -> None:
    """Raise a KeyboardInterrupt again where Ctrl-C makes one, as in tests and notebooks. The
    commands end by another exception, so that there only a plugin's own code raises it."""
    default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if isinstance(error, KeyboardInterrupt) and default:
        raise error


def described(error: BaseException) -> str:
    """Return one line: the text, after the type where that adds something."""
    text = str(error)
    if isinstance(error, _WITHOUT_TYPE):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
