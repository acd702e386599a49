"""Plugins as an HTTP extender: requests come in the HTTP server's thread, changes of the cluster in
those of the watches; all are taken in one after the other in the main thread, where the plugins'
time can be limited."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Full, Queue

import msgspec
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import is_of_decisions
from ksched_cli.extenders import wire
from ksched_cli.live.client import ApiServer, ClusterError, connect
from ksched_cli.live.lists import ObjectList
from ksched_cli.live.snapshot import ClusterReader, annotated_object
from ksched_cli.live.watch import Notice, WatchEnded, Watches, WatchProblem
from ksched_cli.run.open import Opener
from ksched_cli.run.run import KubeconfigCluster, Run
from ksched_cli.serve.http import Bodies, HttpServer, OriginCheck, RefusedError, TokenCheck
from ksched_cli.serve.listening import Listening
from ksched_cli.serve.objects import WatchedObjects
from ksched_cli.serve.plugins import PluginExtender, PluginFailureError, served

# How many requests and changes may wait, so that memory stays bounded.
MAX_WAITING = 10_000
# A request that was not answered after so long never will be; kube-scheduler's default is 5 s.
ANSWER_SECONDS = 10.0
MAX_WARNINGS = 100
_IDLE_SECONDS = 0.2
_JSON = "application/json"
_PROBES = ("/healthz", "/readyz")


@dataclass(slots=True)
class _Query:
    """A request. answer: its body, and the uid of the pod that may be bound now"""

    verb: str
    body: bytes
    answer: Future[bytes] = field(default_factory=Future)


@dataclass(slots=True)
class Cluster:
    """A cluster that is followed. lists: what it had when `objects` began"""

    server: ApiServer
    objects: WatchedObjects
    lists: Sequence[ObjectList]

    @classmethod
    def of(
        cls, at: KubeconfigCluster, kinds: frozenset[str], warn: Callable[[str], None]
    ) -> Cluster:
        """Return the cluster as it is now. kinds: of custom objects that plugins read. Raises
        KschedError."""
        server = connect(at.kubeconfig, at.context)
        reader = ClusterReader(
            server, reads=kinds, namespace=at.namespace, convert=annotated_object
        )
        lists = list(reader.lists())
        for line in reader.snapshot.remarks:
            warn(line)
        objects = WatchedObjects(server.url, kinds)
        objects.begin(lists)
        return cls(server, objects, lists)


@dataclass(slots=True)
class ExtenderServer:
    """cluster: None where the state stays as it is. warn: takes lines; note: lines that are none
    of warning. settle_seconds: how long a request waits until what became of the pods before it is
    heard of: kube-scheduler continues while a pod is being bound, and knows where that is; a watch
    tells it a moment later"""

    plugins: PluginExtender
    cluster: Cluster | None
    listening: Listening
    warn: Callable[[str], None]
    note: Callable[[str], None]
    settle_seconds: float
    metrics: Metrics = field(init=False)
    _inbox: Queue[_Query | Notice] = field(default_factory=lambda: Queue(MAX_WAITING))
    _deferred: deque[_Query] = field(default_factory=deque)
    _bodies: Bodies = field(default_factory=Bodies)
    # By uid: until when a request waits for what becomes of the pod.
    _unsettled: dict[str, float] = field(default_factory=dict)
    _busy_since: float = 0.0
    _warned: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        run: Run,
        listening: Listening,
        warn: Callable[[str], None],
        note: Callable[[str], None],
        settle_seconds: float,
    ) -> ExtenderServer:
        """Return the plugins of a Run, about its state or the live cluster that it names. Raises
        KschedError."""
        clusters: list[Cluster] = []

        def follow(at: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
            clusters.append(Cluster.of(at, kinds, warn))
            return clusters[0].objects.state()

        opener = Opener((run,), read_live=follow, warn=warn)
        registry = opener.registry(run)
        configuration = served(opener.configuration(run), registry)
        state = opener.base_state(run)  # the nodes of a live cluster may join later
        plugins = PluginExtender(
            clusters[0].objects.state if clusters else lambda: state,
            configuration,
            registry,
            opener.options(run),
        )
        cluster = clusters[0] if clusters else None
        return cls(plugins, cluster, listening, warn, note, settle_seconds)

    def __post_init__(self) -> None:
        self.plugins.settle = self._settle
        self.metrics = Metrics({
            ("ksched_extender_nodes", "Nodes known."): lambda: self.plugins.counts[0],
            ("ksched_extender_pods", "Pods known on nodes."): lambda: self.plugins.counts[1],
            ("ksched_extender_waiting", "Requests and changes that wait."): self._inbox.qsize,
        })  # fmt: skip

    # -- the main thread --------------------------------------------------------------------------

    def run(self, is_interrupted: Callable[[], bool]) -> None:
        """Until it is interrupted. Raises UsageError where it cannot listen, ClusterError where
        the cluster refuses the credentials."""
        app = TokenCheck(self._app(), self.listening.token, _PROBES)
        server = HttpServer(OriginCheck(app, self.listening), self.listening, self.warn)
        watches = None
        if self.cluster is not None:
            watches = Watches(self.cluster.server, self._inbox.put)
            for objects in self.cluster.lists:
                watches.start(objects, convert=annotated_object)
        server.start()
        nodes, pods = self.plugins.counts
        self.note(f"serving {server.url}: {nodes} nodes, {pods} pods on them; Ctrl-C ends it")
        try:
            while not is_interrupted():
                # Requests that waited for an outcome are answered first.
                if self._deferred:
                    self._answer(self._deferred.popleft())
                    continue
                try:
                    item = self._inbox.get(timeout=_IDLE_SECONDS)
                except Empty:
                    continue
                if isinstance(item, _Query):
                    self._answer(item)
                else:
                    self._change(item)
        finally:
            if watches is not None:
                watches.end()
            server.stop()

    def _answer(self, query: _Query) -> None:
        if query.answer.done():  # nobody waits for it any more
            return
        self._busy_since = time.monotonic()
        try:
            if self.cluster is not None and self.cluster.objects.is_stale:
                self.plugins.renew()
            ask = {
                "filter": self.plugins.filter,
                "prioritize": self.plugins.prioritize,
                "preempt": self.plugins.preempt,
            }
            uid, answer = ask[query.verb](query.body)
            if uid and self.cluster is not None:
                self._unsettled[uid] = time.monotonic() + self.settle_seconds
            with suppress(InvalidStateError):
                query.answer.set_result(answer)
        except Exception as error:
            for problem, detail in self.plugins.defects().items():
                self._warn_once(problem, detail)
            with suppress(InvalidStateError):
                query.answer.set_exception(error)
        finally:
            self._busy_since = 0.0

    def _settle(self, uid: str) -> None:
        """Wait a moment for the outcome of the pods before this one."""
        self._unsettled.pop(uid, None)
        while self._unsettled:
            remaining = max(self._unsettled.values()) - time.monotonic()
            if remaining <= 0:
                self._unsettled.clear()
                return
            try:
                item = self._inbox.get(timeout=remaining)
            except Empty:
                continue
            if isinstance(item, _Query):
                self._deferred.append(item)
            else:
                self._change(item)

    def _change(self, notice: Notice) -> None:
        """Apply what a watch tells of. Raises ClusterError where nothing can be answered without a
        watch that has ended."""
        assert self.cluster is not None, "it is watched"
        if isinstance(notice, WatchEnded):
            self.warn(notice.line())
            return
        if isinstance(notice, WatchProblem):
            self._warn_once(f"{notice.line}; its objects are listed anew")
            return
        try:
            for change in self.cluster.objects.changes(notice):
                self.plugins.change_pod(change.before, change.after)
                pod = change.after or change.before
                if pod is not None:
                    self._unsettled.pop(pod.uid, None)
        except ClusterError as error:
            self._warn_once(str(error))
        except Exception:  # of a plugin's service that follows pods: all are made anew
            self.cluster.objects.is_stale = True
            self._warn_once("a change of a pod could not be applied", traceback.format_exc())

    def _warn_once(self, line: str, detail: str = "") -> None:
        """Warn once of what lasts for hours, and of the first hundred texts that differ each
        time."""
        if line in self._warned or len(self._warned) >= MAX_WARNINGS:
            return
        self._warned.add(line)
        self.warn(line)
        for each in detail.splitlines():
            self.note(each)

    # -- the HTTP server's thread -----------------------------------------------------------------

    def _app(self) -> Starlette:
        verbs = [
            Route(f"/{verb}", self._respond, methods=["POST"])
            for verb in ("filter", "prioritize", "preempt")
        ]
        return Starlette(
            routes=[
                *verbs,
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route("/metrics", self._metrics),
            ]
        )

    async def _respond(self, request: Request) -> Response:
        verb, size = request.url.path.strip("/"), 0
        start = time.monotonic()
        outcome = "ok"
        try:
            body, size = await self._bodies.of(request)
            start = time.monotonic()
            query = _Query(verb, body)
            self._inbox.put_nowait(query)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await asyncio.wrap_future(query.answer)
            return Response(answer, media_type=_JSON)
        except RefusedError as error:
            outcome = "refused"
            return PlainTextResponse(f"{error}\n", error.status)
        except Full:
            outcome = "busy"
            return PlainTextResponse("too many requests wait; try again\n", 503)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if is_of_decisions(error):
                outcome = "defect"
                return _failure(verb, f"ksched has a defect: {type(error).__name__}: {error}")
            outcome = "malformed"
            return PlainTextResponse(f"not an extender request: {error}\n", 400)
        except TimeoutError:
            outcome = "timeout"
            return _failure(verb, f"no answer within {ANSWER_SECONDS:g} s")
        except PluginFailureError as error:
            outcome = "plugin"
            return _failure(verb, str(error))
        except Exception as error:
            outcome = "defect"
            return _failure(verb, f"ksched has a defect: {type(error).__name__}: {error}")
        finally:
            self._bodies.done(size)
            self.metrics.count(verb, outcome, time.monotonic() - start)

    async def _healthz(self, request: Request) -> Response:
        busy = time.monotonic() - self._busy_since if self._busy_since else 0.0
        if busy > ANSWER_SECONDS:
            return PlainTextResponse(f"a request has taken {busy:.0f} s so far\n", 503)
        return PlainTextResponse("ok\n")

    async def _readyz(self, request: Request) -> Response:
        waiting = self._inbox.qsize()
        if waiting > MAX_WAITING // 2:
            return PlainTextResponse(f"{waiting} requests and changes wait\n", 503)
        return await self._healthz(request)

    async def _metrics(self, request: Request) -> Response:
        text = generate_latest(self.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)


def _failure(verb: str, message: str) -> Response:
    """Return the answer to a failure. Only answers to Filter have a field for an error, which
    kube-scheduler shows."""
    if verb == "filter":
        return Response(wire.filter_error(message), media_type=_JSON)
    return PlainTextResponse(f"{message}\n", 500)


SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """What /metrics shows. gauges: name and help → the value as it is now"""

    def __init__(self, gauges: Mapping[tuple[str, str], Callable[[], float]]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "ksched_extender_requests",
            "Requests by verb and outcome.",
            ("verb", "outcome"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "ksched_extender_request_duration_seconds",
            "Time from a request's last byte to its answer.",
            ("verb",),
            buckets=SECONDS,
            registry=self.registry,
        )
        for (name, about), value in gauges.items():
            Gauge(name, about, registry=self.registry).set_function(value)

    def count(self, verb: str, outcome: str, seconds: float) -> None:
        """A request that was answered. outcome: ok, or what went wrong"""
        self._requests.labels(verb, outcome).inc()
        self._seconds.labels(verb).observe(seconds)
