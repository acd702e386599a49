"""What extenders were asked and answered, kept in a file, and a run that is answered from it.

A file holds one exchange per line, in the order of the answers:

    {"url": …, "request": {…}, "status": 200, "answer": "…"}
    {"url": …, "request": {…}, "error": "why there was no answer"}
"""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

import msgspec

from ksched_cli.errors import InputError, Position, UsageError
from ksched_cli.extenders.client import ExtenderRequest, Reply, Transport, UnreachableError
from ksched_cli.extenders.faults import redacted
from ksched_cli.framework.extender import ExtenderError


class Exchange(msgspec.Struct, omit_defaults=True):
    """url: whole, without a password. answer: the body as text; answer_base64: where it is none."""

    url: str
    request: msgspec.Raw
    status: int = 0
    answer: str | None = None
    answer_base64: bytes = b""
    error: str = ""

    @classmethod
    def of(cls, request: ExtenderRequest, reply: Reply) -> Exchange:
        made = cls(redacted(request.url), msgspec.Raw(request.body), reply.status)
        try:
            made.answer = reply.body.decode()
        except UnicodeDecodeError:
            made.answer_base64 = reply.body
        return made

    def reply(self) -> Reply:
        """Raises UnreachableError where there was none."""
        if self.error:
            raise UnreachableError(self.error)
        body = self.answer_base64 if self.answer is None else self.answer.encode()
        return Reply(self.status, body)


class Recording:
    """A file under way. Lines appear as answers come in, so that a run broken off leaves them."""

    def __init__(self, path: str) -> None:
        """Raises UsageError where the file cannot be written."""
        try:
            # Open until `close`, as long as the run.
            file = gzip.open(path, "wb") if _is_packed(path) else open(path, "wb")  # noqa: SIM115
            self._file = cast(IO[bytes], file)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None

    def over(self, transport: Transport) -> Transport:
        """The same transport, with all that goes over it kept."""
        return _Recorder(transport, self._keep)

    def _keep(self, exchange: Exchange) -> None:
        self._file.write(msgspec.json.encode(exchange) + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _Recorder:
    def __init__(self, transport: Transport, keep: Callable[[Exchange], None]) -> None:
        self._transport = transport
        self._keep = keep

    def start(self, request: ExtenderRequest) -> Callable[[], Reply]:
        wait = self._transport.start(request)

        def reply() -> Reply:
            try:
                found = wait()
            except ExtenderError as error:
                body = msgspec.Raw(request.body)
                self._keep(Exchange(redacted(request.url), body, error=str(error)))
                raise
            self._keep(Exchange.of(request, found))
            return found

        return reply

    def close(self) -> None:
        self._transport.close()


class Replay:
    """Answers from a file. A request that came several times gets its answers in their order, then
    the last one again.

    missing: what is raised for a request that was not recorded, once there was one
    """

    def __init__(self, path: str) -> None:
        """Raises InputError where the file is missing or not a recording."""
        self._path = path
        self.missing: UsageError | None = None
        self._answers: dict[tuple[str, bytes], deque[Exchange]] = {}
        decoder = msgspec.json.Decoder(Exchange)
        for number, line in enumerate(_lines(path), start=1):
            try:
                found = decoder.decode(line)
            except msgspec.DecodeError as error:
                problem = f"no exchange with an extender: {error}"
                raise InputError(path, problem, position=Position(number, 1)) from None
            key = (found.url, sha256(found.request).digest())
            found.request = msgspec.Raw()
            self._answers.setdefault(key, deque()).append(found)

    def start(self, request: ExtenderRequest) -> Callable[[], Reply]:
        """Raises UsageError for a request that was not recorded."""
        url = redacted(request.url)
        answers = self._answers.get((url, sha256(request.body).digest()))
        if answers is None:
            self.missing = UsageError(
                f"{self._path} has no answer to this request to {url}\n"
                "  The state, the configuration or ksched has changed: record again with "
                "--record-extenders."
            )
            raise self.missing
        found = answers.popleft() if len(answers) > 1 else answers[0]
        return found.reply

    def close(self) -> None:
        self._answers.clear()


def _lines(path: str) -> list[bytes]:
    try:
        data = Path(path).read_bytes()
        return (gzip.decompress(data) if _is_packed(path) else data).splitlines()
    except (OSError, EOFError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(path, f"cannot be read: {problem}") from None


def _is_packed(path: str) -> bool:
    return path.endswith(".gz")
