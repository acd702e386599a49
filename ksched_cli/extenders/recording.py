"""Records calls to extenders in a file, and answers a later run's calls from it.

The file has one exchange per line, in the order of the replies:

    {"url": …, "request": {…}, "status": 200, "answer": "…"}
    {"url": …, "request": {…}, "error": "why there was no answer"}
"""

from __future__ import annotations

import gzip
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from hashlib import sha256
from weakref import WeakValueDictionary, finalize

import msgspec

from ksched_cli.errors import InputError, Position, UsageError
from ksched_cli.extenders.client import (
    ExtenderRequest,
    HttpReply,
    Transport,
    UnreachableError,
)
from ksched_cli.framework.preemption import ExtenderError
from ksched_cli.kube.file_lock import locked
from ksched_cli.kube.stored_bytes import unpacked_by_name, whole_lines
from ksched_cli.masking import masked_url


class Exchange(msgspec.Struct, omit_defaults=True):
    """url: without a password. answer: the reply's body; answer_base64: one that is not UTF-8."""

    url: str
    request: msgspec.Raw
    status: int = 0
    answer: str | None = None
    answer_base64: bytes = b""
    error: str = ""

    @classmethod
    def of(cls, request: ExtenderRequest, reply: HttpReply) -> Exchange:
        exchange = cls(masked_url(request.url), msgspec.Raw(request.body), reply.status)
        try:
            exchange.answer = reply.body.decode()
        except UnicodeDecodeError:
            exchange.answer_base64 = reply.body
        return exchange

    def reply(self) -> HttpReply:
        """Return the recorded reply. Raises UnreachableError if there was none."""
        if self.error:
            raise UnreachableError(self.error)
        body = self.answer_base64 if self.answer is None else self.answer.encode()
        return HttpReply(self.status, body)


class _SharedFile:
    """A file that this process alone writes; it is closed with its last user, or the process."""

    def __init__(self, path: str) -> None:
        """Open and lock the file. Raises UsageError where another process has it, and OSError."""
        held = ExitStack()
        held.enter_context(locked(path, "--record-extenders"))
        try:
            file = open(path, "wb")  # noqa: SIM115 - entered below
        except OSError:
            held.close()
            raise
        self._file = held.enter_context(file)
        finalize(self, _close, held)

    def append(self, data: bytes) -> None:
        """Write the data at once. Raises OSError."""
        self._file.write(data)
        self._file.flush()


def _close(held: ExitStack) -> None:
    with suppress(OSError):  # what could not be written once is tried again, and was told
        held.close()


# By real path: a question that opens several simulations records all of them in one file.
_OPEN: WeakValueDictionary[str, _SharedFile] = WeakValueDictionary()


class Recording:
    """Writes each exchange to a file when its reply arrives: an interrupted run has its part.

    failure: the error raised where the file could not be written; None until then
    """

    def __init__(self, path: str) -> None:
        """Open the file, which recordings of one process share. Raises UsageError where it cannot
        be written, or another process writes it."""
        self._path = path
        self.failure: UsageError | None = None
        try:
            name = os.path.realpath(path)
            self._file: _SharedFile | None = _OPEN.get(name) or _SharedFile(path)
            _OPEN[name] = self._file
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> UsageError:
        self.failure = UsageError(f"{self._path} cannot be written: {error.strerror}")
        return self.failure

    def wrap(self, transport: Transport) -> Transport:
        """Return a transport that calls `transport` and records each exchange."""
        return _Recorder(transport, self._write)

    def _write(self, exchange: Exchange) -> None:
        """Append an exchange to the file. Raises UsageError where that fails."""
        assert self._file is not None
        line = msgspec.json.encode(exchange) + b"\n"
        try:
            # A member of gzip for each: what is there is whole, whenever the run ends.
            self._file.append(gzip.compress(line) if self._path.endswith(".gz") else line)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        self._file = None


class _Recorder:
    """A Transport that records what goes through another one."""

    def __init__(self, transport: Transport, write: Callable[[Exchange], None]) -> None:
        self._transport = transport
        self._write = write

    def start(self, request: ExtenderRequest) -> Callable[[], HttpReply]:
        wait = self._transport.start(request)

        def wait_and_record() -> HttpReply:
            try:
                reply = wait()
            except ExtenderError as error:
                body = msgspec.Raw(request.body)
                self._write(Exchange(masked_url(request.url), body, error=str(error)))
                raise
            self._write(Exchange.of(request, reply))
            return reply

        return wait_and_record

    def close(self) -> None:
        self._transport.close()


class RecordedReplies:
    """A Transport that answers from a file. A request that was recorded several times gets its
    replies in their order, then the last one again.

    failure: the error raised for a request that was not recorded; None until there was one
    """

    def __init__(self, path: str, warn: Callable[[str], None]) -> None:
        """Read the recording. warn: takes a line where the end of the file is missing

        Raises InputError where the file is missing or not a recording.
        """
        self._path = path
        self.failure: UsageError | None = None
        self._exchanges: dict[tuple[str, bytes], deque[Exchange]] = {}
        decoder = msgspec.json.Decoder(Exchange)
        for number, line in enumerate(_lines(path, warn), start=1):
            try:
                exchange = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                problem = f"this is not an exchange with an extender: {error}"
                raise InputError(path, problem, position=Position(number, 1)) from None
            key = (exchange.url, sha256(exchange.request).digest())
            exchange.request = msgspec.Raw()
            self._exchanges.setdefault(key, deque()).append(exchange)

    def start(self, request: ExtenderRequest) -> Callable[[], HttpReply]:
        """Return a function that returns the recorded reply. Raises UsageError for a request that
        was not recorded."""
        url = masked_url(request.url)
        exchanges = self._exchanges.get((url, sha256(request.body).digest()))
        if exchanges is None:
            self.failure = UsageError(
                f"{self._path} has no recorded answer to this request to {url}\n"
                "  The state, the configuration or ksched has changed: record again with "
                "--record-extenders."
            )
            raise self.failure
        exchange = exchanges.popleft() if len(exchanges) > 1 else exchanges[0]
        return exchange.reply

    def close(self) -> None:
        """Do nothing: no file is open."""


def _lines(path: str, warn: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the lines of the recording. Raises InputError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            yield from whole_lines(unpacked_by_name(file, path), path, warn)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
