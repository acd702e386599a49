"""Files that another file names: certificates, keys and tokens. They are regular files of bounded
size, because a pipe would be waited for and a device has no end."""

from __future__ import annotations

import os
from os import open as descriptor
from stat import S_ISDIR, S_ISREG

MAX_BYTES = 4 << 20
"""A bundle of all public certificate authorities has a tenth of it."""
_REASONS = {2: "no such file or directory", 13: "permission denied", 20: "not a directory"}


def unreadable(file: str) -> str | None:
    """Return why a file cannot be read, in Go's words; None if it can. Does not open it."""
    try:
        status = os.stat(file)
    except ValueError:  # a NUL in the path
        return f"open {file}: invalid argument"
    except OSError as error:
        return _open_error(file, error)
    if not os.access(file, os.R_OK):
        return f"open {file}: permission denied"
    return _unfit(file, status)


def read_small_file(file: str) -> bytes:
    """Return the content of a regular file that is not too large. Raises OSError, whose message
    names the file and says why it cannot be read."""
    try:
        # What is no regular file is not waited for.
        with open(descriptor(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            problem = _unfit(file, os.fstat(opened.fileno()))
            data = b"" if problem else opened.read(MAX_BYTES + 1)
    except ValueError:
        problem = f"open {file}: invalid argument"
    except OSError as error:
        problem = _open_error(file, error)
    if problem is None and len(data) > MAX_BYTES:
        problem = _too_large(file)
    if problem is not None:
        raise OSError(problem)
    return data


def _open_error(file: str, error: OSError) -> str:
    number = error.errno or 0
    return f"open {file}: {_REASONS.get(number, os.strerror(number).lower())}"


def _unfit(file: str, status: os.stat_result) -> str | None:
    if S_ISDIR(status.st_mode):
        return f"read {file}: is a directory"
    if not S_ISREG(status.st_mode):
        return f"{file} is not a regular file"
    return _too_large(file) if status.st_size > MAX_BYTES else None


def _too_large(file: str) -> str:
    return f"{file} is larger than {MAX_BYTES >> 20} MiB"
