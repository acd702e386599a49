"""The messages between the referee and the process of a policy, and how they are read.

A message is its length, 4 bytes, and msgpack. The referee decodes answers into plain types only: it
runs nothing that a policy sends.
"""

from __future__ import annotations

import socket
from time import monotonic
from typing import TypeAlias

import msgspec
from msgspec import Struct

_LENGTH = 4
# Scores of a million nodes are 8 MB.
MAX_LENGTH = 64 << 20


class Limits(Struct, frozen=True):
    """What the process of a policy may use: bytes of memory, seconds of CPU in all."""

    memory: int
    cpu_seconds: int


class Start(Struct, frozen=True, tag="start"):
    """Load the policy. path: of its file"""

    path: str
    limits: Limits


class NodeTable(Struct, frozen=True, tag="nodes"):
    """The nodes as they are from now on.

    units:       per resource, how much of the amounts is 1 for the policy
    allocatable: int64, a row per node and a column per resource
    """

    resources: tuple[str, ...]
    units: tuple[int, ...]
    names: tuple[str, ...]
    labels: tuple[dict[str, str], ...]
    allocatable: bytes


class Ask(Struct, frozen=True, tag="ask"):
    """Score these nodes for a pod.

    rows:      int32, of the table, those that the pod fits on
    requested: int64, a row per node of `rows` and a column per resource
    requests:  of the pod, per resource
    """

    name: str
    namespace: str
    labels: dict[str, str]
    priority: int
    requests: tuple[int, ...]
    rows: bytes
    requested: bytes


class Scores(Struct, frozen=True, tag="scores"):
    """float64, one per row that was asked about."""

    scores: bytes


class Failure(Struct, frozen=True, tag="failure"):
    """What is wrong with the policy."""

    problem: str


Question: TypeAlias = Start | NodeTable | Ask
Answer: TypeAlias = Scores | Failure

_encode = msgspec.msgpack.Encoder().encode
_decode_question = msgspec.msgpack.Decoder(Question).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode


class EndedError(Exception):
    """The other side has closed the connection."""


def send(connection: socket.socket, message: Question | Answer) -> None:
    """Send a message. Raises OSError, TimeoutError among them."""
    data = _encode(message)
    connection.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def receive_question(connection: socket.socket) -> Question:
    """Receive a question. Raises EndedError, OSError."""
    return _decode_question(_receive(connection, None))


def receive_answer(connection: socket.socket, deadline: float) -> Answer:
    """deadline: by the monotonic clock. Raises EndedError, OSError, TimeoutError among them, and
    ValueError for what is no answer."""
    return _decode_answer(_receive(connection, deadline))


def _receive(connection: socket.socket, deadline: float | None) -> bytes:
    length = int.from_bytes(_read(connection, _LENGTH, deadline), "big")
    if length > MAX_LENGTH:
        raise ValueError(f"a message of {length} bytes")
    return _read(connection, length, deadline)


def _read(connection: socket.socket, count: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < count:
        if deadline is not None:
            left = deadline - monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        part = connection.recv(count - len(data))
        if not part:
            raise EndedError
        data += part
    return bytes(data)
