"""Exceptions of plugins' code, and their texts. Does not load NumPy."""

from __future__ import annotations

import signal

from ksched_cli.framework.call_limit import CallTimeoutError
from ksched_cli.framework.status import MalformedError, MutationError

# Other exceptions are not a plugin's own: they end a test, or the run.
FAILURES = (Exception, SystemExit, GeneratorExit, KeyboardInterrupt)

# Their text says all.
_WITHOUT_TYPE = (MalformedError, MutationError, CallTimeoutError)


def raise_users_interrupt(error: BaseException) -> None:
    """Raises a KeyboardInterrupt again where Ctrl-C makes one, as in tests and notebooks. The
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
