"""Pickles that call what they name when they are read, for tests; written opcode by opcode."""

from __future__ import annotations

import pickle
from hashlib import sha256
from struct import pack

OWN = "ksched_cli.engine.replay.checkpoint"


def text(value: str) -> bytes:
    encoded = value.encode()
    return pickle.BINUNICODE + pack("<I", len(encoded)) + encoded


def names(module: str, name: str) -> bytes:
    """From protocol 4 on a name may have dots."""
    return text(module) + text(name) + pickle.STACK_GLOBAL


def calls(function: bytes, *arguments: bytes) -> bytes:
    return function + pickle.MARK + b"".join(arguments) + pickle.TUPLE + pickle.REDUCE


def gets(attribute: str, value: bytes) -> bytes:
    """By operator.attrgetter, which a module of ksched's imports."""
    getter = names("ksched_cli.engine.replay.scheduling_queue", "attrgetter")
    return calls(calls(getter, text(attribute)), value)


def popen(file: str) -> bytes:
    """Makes the file, by a program."""
    command = pickle.EMPTY_LIST + pickle.MARK + text("touch") + text(file) + pickle.APPENDS
    module = "ksched_cli.cluster.snapshot"
    process = calls(names(module, "np.f2py.subprocess.Popen"), command)
    return calls(gets("wait", process))


def file_io(file: str) -> bytes:
    """Empties the file."""
    return calls(names(OWN, "pickle.io.FileIO"), text(file), text("w"))


def attrgetter(file: str) -> bytes:
    """Makes the file, by a module that `__import__` gives."""
    replay = names("ksched_cli.engine.replay.replay", "Replay")
    builtins = calls(gets("__init__.__globals__.__getitem__", replay), text("__builtins__"))
    module = calls(calls(gets("get", builtins), text("__import__")), text("os"))
    return calls(gets("mkdir", module), text(file))


def of_former_format(expression: bytes) -> bytes:
    """A checkpoint of a former format: a digest, and a pickle."""
    pickled = pickle.PROTO + b"\x04" + expression + pickle.STOP
    return sha256(pickled).digest() + pickled
