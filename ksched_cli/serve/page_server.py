"""The workbench over HTTP: who may ask, what, and how long one waits for it.

The HTTP server runs in a thread of its own. Questions are answered one after the other in the main
thread, which is the one that signals reach and limits on the time of plugins hold in.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from queue import Empty, Full, Queue
from threading import Event
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksched_cli.errors import KschedError, is_of_decisions, shortened_lines
from ksched_cli.kube.versions import MINORS
from ksched_cli.report.words import printable
from ksched_cli.serve.http import Bodies, HttpServer, RefusedError, is_foreign, secret
from ksched_cli.serve.listening import Listening, is_loopback
from ksched_cli.serve.workbench_runs import (
    AbandonedError,
    Draft,
    EditedObject,
    Edits,
    NewWeight,
    UnknownRunError,
    Workbench,
)

MAX_BODY = 4 << 20
# For a file with a state, which may come through `ssh -L`.
MAX_STATE = 256 << 20
STATE_SECONDS = 300.0
MAX_WAITING = 200
_IDLE_SECONDS = 0.2
# The page itself says nothing of the state, and is where a link without a cookie arrives.
OPEN_PATHS = ("/", "/workbench.css", "/workbench.js", "/session")
# With any port: `ssh -L` has another.
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")
_SAME_ORIGIN = ("same-origin", "none")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# An answer's page has a policy of its own in it.
_ANSWER_POLICY = "frame-ancestors 'self'"
_FILES = {
    "/": (["serve/page/workbench.html"], "text/html"),
    "/workbench.css": (["report/html/page.css", "serve/page/workbench.css"], "text/css"),
    "/workbench.js": (["serve/page/workbench.js"], "text/javascript"),
}
_OTHER_SITE = "a page of another site may not ask"
_FORMS = {"html": "text/html", "json": "application/json"}

T = TypeVar("T")
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(slots=True)
class Guard:
    """Lets requests through that come from the workbench's own page and know the token. Another
    site's page has another Origin; a name of another site's that leads here is another Host."""

    app: ASGIApp
    listening: Listening
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        problem = self._problem(request)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", _POLICY)
            await send(message)

        if problem is None:
            await self.app(scope, receive, with_headers)
        else:
            await _refusal(*problem)(scope, receive, with_headers)

    def _problem(self, request: Request) -> tuple[int, str] | None:
        host = request.headers.get("host", "")
        if is_loopback(self.listening.host) and not _LOOPBACK.fullmatch(host):
            return 403, f"{printable(host) or 'no host'}: open 127.0.0.1 or localhost"
        if is_foreign(request.headers, self.listening):
            return 403, _OTHER_SITE
        if request.url.path in OPEN_PATHS:
            return None
        if request.headers.get("sec-fetch-site", "none") not in _SAME_ORIGIN:
            return 403, _OTHER_SITE
        sent = request.cookies.get(cookie_name(request), "").encode()
        sent = sent or secret(request.headers.get("authorization", "").encode())
        if not hmac.compare_digest(sent, self.token.encode()):
            return 401, "open the address that `ksched serve page` printed: it has the token"
        return None


def cookie_name(request: Request) -> str:
    """Cookies are of a host, whatever the port."""
    return f"ksched-{request.scope['server'][1]}"


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def _plain_refusal(status: int, message: str) -> Response:
    return PlainTextResponse(message, status)


@dataclass(frozen=True, slots=True)
class _Job:
    """A question that waits for the main thread. gone: nobody waits for its answer any more"""

    call: Callable[[], Any]
    answer: Future[Any] = field(default_factory=Future)
    gone: Event = field(default_factory=Event)


@dataclass(slots=True)
class PageServer:
    """token: what clients have to know. note: takes the address; warn: tracebacks of defects"""

    workbench: Workbench
    listening: Listening
    token: str
    note: Callable[[str], None]
    warn: Callable[[str], None]
    _inbox: Queue[_Job] = field(default_factory=lambda: Queue(MAX_WAITING))
    _bodies: Bodies = field(default_factory=lambda: Bodies(MAX_BODY))
    _states: Bodies = field(default_factory=lambda: Bodies(MAX_STATE, STATE_SECONDS))

    # -- the main thread --------------------------------------------------------------------------

    def run(self, is_interrupted: Callable[[], bool], show: Callable[[str], object]) -> None:
        """Until it is interrupted. show: takes the address. Raises KschedError where the Run of the
        command line cannot be answered, or it cannot listen."""
        self.workbench.open(Edits())
        server = HttpServer(
            Guard(self._app(), self.listening, self.token), self.listening, self.warn
        )
        server.start()
        url = f"{server.url}/#token={self.token}"
        # The address is a line of its own, so that nothing else is copied with it.
        self.note("serving the workbench until Ctrl-C:")
        self.note(url)
        show(url)
        try:
            while not is_interrupted():
                with suppress(Empty):
                    self._answer(self._inbox.get(timeout=_IDLE_SECONDS), is_interrupted)
        finally:
            server.stop()

    def _answer(self, job: _Job, is_interrupted: Callable[[], bool]) -> None:
        if not job.answer.set_running_or_notify_cancel():
            return
        self.workbench.is_abandoned = lambda: job.gone.is_set() or is_interrupted()
        try:
            job.answer.set_result(job.call())
        except Exception as error:
            job.answer.set_exception(error)

    # -- the HTTP server's thread -----------------------------------------------------------------

    def _app(self) -> Starlette:
        def route(path: str, handler: Handler, method: str = "GET") -> Route:
            async def respond(request: Request) -> Response:
                return await self._respond(request, handler)

            return Route(path, respond, methods=[method])

        def api(path: str, answer: Callable[[str, Any], Any], kind: type | None = None) -> Route:
            """answer: in the main thread, from the Run's digest and what is sent, which is the
            query where there is no body; kind: of the body"""

            async def handler(request: Request) -> Response:
                digest, query = request.path_params.get("digest", ""), request.query_params
                sent = query if kind is None else await self._body(request, kind)
                data = await self._ask(request, lambda: answer(digest, sent))
                return Response(msgspec.json.encode(data), media_type="application/json")

            return route(path, handler, "GET" if kind is None else "POST")

        bench, run = self.workbench, "/api/runs/{digest}"
        return Starlette(
            routes=[
                *(route(path, self._file) for path in _FILES),
                route("/session", self._session, "POST"),
                api("/api/start", self._start),
                api("/api/runs", lambda _, edits: bench.open(edits), Edits),
                api(run, lambda name, _: bench.view(name)),
                api(f"{run}/objects", bench.listing),
                api(f"{run}/object", bench.manifest),
                api(f"{run}/change", bench.edited, EditedObject),
                api(f"{run}/weight", bench.weighted, NewWeight),
                route("/api/state", self._state, "POST"),
                api("/api/findings", lambda _, draft: bench.findings(draft), Draft),
                route("/answers/{digest}/{question}.{form}", self._page),
                route("/exports/{digest}/{file}", self._export),
            ]
        )

    async def _respond(self, request: Request, handler: Handler) -> Response:
        refusal = _refusal
        if request.url.path.endswith(".html"):  # of a frame, which shows it as it is
            refusal = _plain_refusal
        try:
            return await handler(request)
        except RefusedError as error:
            return refusal(error.status, str(error))
        except Full:
            return refusal(503, "too many questions wait; try again")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if is_of_decisions(error):
                return self._defect(refusal, error)
            return refusal(400, f"not a request of the workbench: {error}")
        except UnknownRunError as error:
            return refusal(404, str(error))
        except KschedError as error:
            return refusal(422, printable(shortened_lines(str(error))))
        except AbandonedError:
            return refusal(503, "the server ends")
        except Exception as error:
            return self._defect(refusal, error)

    def _defect(self, refusal: Callable[[int, str], Response], error: Exception) -> Response:
        self.warn("".join(traceback.format_exception(error)))
        return refusal(500, f"ksched has a defect: {type(error).__name__}: {error}")

    async def _ask(self, request: Request, call: Callable[[], T]) -> T:
        """Return the main thread's answer. A client that leaves cancels its question."""
        job = _Job(call)
        self._inbox.put_nowait(job)
        answer = asyncio.wrap_future(job.answer)
        leaving = asyncio.create_task(_left(request))
        try:
            await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise RefusedError(400, "the client has gone")
            result: T = answer.result()
            return result
        finally:
            job.gone.set()
            leaving.cancel()
            answer.cancel()

    async def _body(self, request: Request, kind: type[T]) -> T:
        body, size = await self._bodies.of(request)
        try:
            return msgspec.json.decode(body, type=kind)
        finally:
            self._bodies.done(size)

    def _start(self, *_: Any) -> Any:
        run = self.workbench.open(Edits())
        return {"run": run, "minors": MINORS, "largest": self._states.largest}

    async def _state(self, request: Request) -> Response:
        """Take a file with a state. Large bodies are read one at a time, so that two do not take
        twice the memory."""
        if self._states.read:
            raise RefusedError(503, "another state is being sent; try again")
        content, size = await self._states.of(request)
        try:
            data = await self._ask(
                request, lambda: self.workbench.load(content, request.query_params)
            )
        finally:
            self._states.done(size)
        return JSONResponse(data)

    async def _file(self, request: Request) -> Response:
        paths, media_type = _FILES[request.url.path]
        texts = [(files("ksched_cli") / path).read_text(encoding="utf-8") for path in paths]
        return Response("".join(texts), media_type=media_type)

    async def _session(self, request: Request) -> Response:
        """The token of the address becomes a cookie that no script reads and no other site
        sends."""
        token = await self._body(request, str)
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return _refusal(401, "the token is wrong: this server was started again since")
        response = Response(status_code=204)
        secure = bool(self.listening.certificate)
        response.set_cookie(
            cookie_name(request), self.token, httponly=True, samesite="strict", secure=secure
        )
        return response

    async def _page(self, request: Request) -> Response:
        about, path = request.query_params.get("about", ""), request.path_params
        name, question, form = path["digest"], path["question"], path["form"]
        if form not in _FORMS:
            raise RefusedError(404, f"an answer is html or json; not {form}")
        text = await self._ask(request, lambda: self.workbench.answer(name, question, about, form))
        headers = {"Content-Security-Policy": _ANSWER_POLICY}
        if "save" in request.query_params:
            headers |= _attachment(f"{question}.{form}")
        return Response(text, media_type=_FORMS[form], headers=headers)

    async def _export(self, request: Request) -> Response:
        name, file = request.path_params["digest"], request.path_params["file"]
        text = await self._ask(request, lambda: self.workbench.export(name, file))
        return Response(text, media_type="application/yaml", headers=_attachment(file))


def _attachment(name: str) -> Mapping[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
