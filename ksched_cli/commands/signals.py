"""SIGINT and SIGTERM end the command in order: what is being written aside goes away, and then the
process ends by the signal, as a shell expects of it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_SOON = 0.01  # seconds, by which the callback has ended


class EndedBySignal(BaseException):
    """No Exception: nothing but `finally` may come between it and the end of the command."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


@contextmanager
def raised_signals() -> Iterator[None]:
    """Raise EndedBySignal at the first of SIGNALS meanwhile; the next one ends the process at once.
    One that the parent has us ignore, as nohup does, stays ignored."""
    others = sys.unraisablehook

    def raise_again(unraisable: UnraisableHookArgs) -> None:
        """Raise again what Python drops when it is raised in a destructor or a weak reference's
        callback."""
        if not isinstance(unraisable.exc_value, EndedBySignal):
            others(unraisable)
            return
        number = unraisable.exc_value.number
        signal.signal(number, _once(_raise))
        threading.Timer(_SOON, os.kill, (os.getpid(), number)).start()

    sys.unraisablehook = raise_again
    try:
        with _handled(_raise), unmasked_signals():
            yield
    finally:
        sys.unraisablehook = others


@dataclass(slots=True)
class Interruption:
    """The first of SIGNALS, for a command that ends at a moment of its own choice.

    number: of the signal; 0 before there was one
    """

    number: int = 0
    _last_call: threading.Timer | None = None

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Remember the first signal that comes meanwhile; the next one ends the process at once."""

        def remember(number: int) -> None:
            self.number = number

        with _handled(remember):
            yield

    @contextmanager
    def heeded(self, heed: Callable[[], object], patience: float) -> Iterator[None]:
        """Call `heed` at the first signal meanwhile. The next one raises EndedBySignal; so does the
        first, unless `is_heeded` or the end comes within as many seconds."""

        def remember(number: int) -> None:
            self.number = number
            heed()
            signal.signal(number, _once(_raise))
            self._last_call = threading.Timer(patience, os.kill, (os.getpid(), number))
            self._last_call.daemon = True
            self._last_call.start()

        with _handled(remember):
            try:
                yield
            finally:
                self.is_heeded()

    def is_heeded(self) -> None:
        """Note that what the signal interrupted has come to an end."""
        if self._last_call is not None:
            self._last_call.cancel()
            self._last_call.join()  # a signal that it has sent is received here
            self._last_call = None


@contextmanager
def heeded_interrupt(heed: Callable[[], object]) -> Iterator[None]:
    """Call `heed` at the first SIGINT meanwhile, and do nothing else; the next one is as ever."""
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is signal.SIG_IGN:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        heed()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _handled(handle: Callable[[int], None]) -> Iterator[None]:
    """Handle the first of SIGNALS meanwhile, and not the next one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _once(handle))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _once(handle: Callable[[int], None]) -> Callable[[int, FrameType | None], None]:
    """Return a handler that leaves further signals to the system."""

    def handle_once(number: int, frame: FrameType | None) -> None:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        handle(number)

    return handle_once


@contextmanager
def unmasked_signals() -> Iterator[None]:
    """Turn an error that came up while a signal ended the command into that signal: a library's own
    cleaning up may fail where it was interrupted."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, EndedBySignal):
            cause = cause.__context__
        if cause is None:
            raise
        raise cause from None


def end_by(number: int) -> NoReturn:
    """End the process as the signal does that nobody handles."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # where the signal is blocked


def _raise(number: int) -> None:
    raise EndedBySignal(number)
