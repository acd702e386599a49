"""A file that one process at a time may use: two searches in one study would mix their trials."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock

from ksched_cli.errors import UsageError


@contextmanager
def locked(path: str, option: str) -> Iterator[None]:
    """Inside, this block is the only one that uses the file, which need not exist yet and may be
    replaced. path: "" locks nothing, nor does a device or a pipe. option: that names the file.

    The lock is on a file beside it, which the kernel releases however the process ends.
    Raises UsageError where another process, or another block of this one, has the lock.
    """
    if not path or (os.path.exists(path) and not os.path.isfile(path)):
        yield
        return
    folder, name = os.path.split(os.path.realpath(path))
    lock = os.path.join(folder, f".{name}.lock")
    try:
        descriptor = _acquired(lock)
    except BlockingIOError:
        raise UsageError(
            f"{option} {path}: another ksched is using it; wait for its end, or name another file"
        ) from None
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock)
        os.close(descriptor)


def _acquired(lock: str) -> int:
    """Return a descriptor of the locked file. Raises BlockingIOError and other OSErrors."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            # Its last holder may have removed it between the two calls: another one is there now.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(lock), os.fstat(descriptor)):
                    return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
