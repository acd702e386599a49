"""Runs on the Dask workers of an existing cluster.

What runs are made from goes to each worker once, by a WorkerPlugin, and stays there when a worker
is started again. A worker performs runs in processes of their own (run_process.py), so that what a
plugin does to its process ends no worker.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from math import ceil
from threading import Lock
from time import monotonic
from typing import Any
from uuid import uuid4

from distributed import Client, WorkerPlugin, as_completed, get_worker
from msgspec import structs

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.errors import UsageError
from ksched_cli.run.inputs import installed_versions
from ksched_cli.sweep.outcome import LOST, Task
from ksched_cli.sweep.preparation import Shared
from ksched_cli.sweep.run_process import Executor, ExecutorOptions, RunProcess

# Runs are sent in batches of about so many seconds: each costs the scheduler some milliseconds.
BATCH_SECONDS = 0.5
MAX_BATCH = 256
# How many batches wait for each thread of the workers, one of them running.
BATCHES_AHEAD = 3
WAIT_FOR_WORKERS = 30
CONNECT_SECONDS = 10


class _Processes:
    """The processes of a worker; each performs one run at a time."""

    def __init__(self, shared: Shared, timeout: float) -> None:
        self._shared, self._timeout = shared, timeout
        self._idle: list[RunProcess] = []
        self._all: list[RunProcess] = []
        self._lock = Lock()

    def perform(self, tasks: Sequence[Task]) -> list[Outcome]:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is None:
            process = RunProcess(self._shared, self._timeout)
            self._all.append(process)
        try:
            return [outcome for _, outcome in process.perform_all(tasks)]
        finally:
            self._idle.append(process)

    def close(self) -> None:
        for process in self._all:
            process.close()


# By the sweep's token and the worker's address.
_PROCESSES: dict[tuple[str, str], _Processes] = {}


class SweepPlugin(WorkerPlugin):  # type: ignore[misc]  # the library need not be installed
    """Brings a worker what the runs of a sweep are made from."""

    def __init__(self, token: str, shared: Shared, timeout: float) -> None:
        self.name = f"ksched-sweep-{token}"
        self.token, self.shared, self.timeout = token, shared, timeout

    def setup(self, worker: Any) -> None:
        _PROCESSES[self.token, worker.address] = _Processes(self.shared, self.timeout)

    def teardown(self, worker: Any) -> None:
        processes = _PROCESSES.pop((self.token, worker.address), None)
        if processes is not None:
            processes.close()


class VersionMismatchError(UsageError):
    """A worker has other versions of ksched or of plugins than this machine."""


def run_batch(token: str, versions: dict[str, str], tasks: Sequence[Task]) -> list[Outcome]:
    """Return what a worker does. Raises VersionMismatchError where it has other versions than the
    client, KeyError where it was not told of the sweep."""
    address = get_worker().address
    check_versions(address, installed_versions(), versions)
    outcomes = _PROCESSES[token, address].perform(tasks)
    return [structs.replace(outcome, worker=address) for outcome in outcomes]


def check_versions(address: str, there: dict[str, str] | Exception, here: dict[str, str]) -> None:
    """Check that a worker has the versions of this process. Raises VersionMismatchError, see there.
    there: an exception where it could not be asked for, as where ksched is not installed"""
    if isinstance(there, Exception):
        raise VersionMismatchError(
            f"the worker {address} cannot run ksched: {type(there).__name__}: {there}\n"
            f"  install ksched {here['ksched']} there"
        )
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            ours, theirs = here.get(name, "not installed"), there.get(name, "not installed")
            raise VersionMismatchError(
                f"the worker {address} has {name} {theirs}, this machine {ours}\n"
                "  install the same versions on both; otherwise results could differ "
                "between workers"
            )


@contextmanager
def on_cluster(shared: Shared, options: ExecutorOptions) -> Iterator[tuple[Executor, int]]:
    """What performs runs on the workers, and how many of them there are. Raises UsageError where
    the cluster does not answer, or VersionMismatchError."""
    with _client(options.address) as client:
        addresses = client.run(installed_versions, on_error="return")
        for address, there in sorted(addresses.items()):
            check_versions(address, there, shared.versions)
        token = uuid4().hex[:12]
        plugin = SweepPlugin(token, shared, options.timeout)
        client.register_plugin(plugin)
        try:
            batches = Batches(client, token, shared.versions, options.retries)
            yield batches.execute, len(addresses)
        finally:
            batches.cancel()
            # Ends the processes, so that no worker waits for them; one that is gone has none.
            with suppress(KeyError, OSError, TimeoutError):
                client.unregister_worker_plugin(plugin.name)


@contextmanager
def _client(address: str) -> Iterator[Client]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        problem = str(error).split("\n")[0]
        raise UsageError(f"no Dask scheduler answers at {address}: {problem}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
        except TimeoutError:
            raise UsageError(f"the cluster at {address} has no workers") from None
        yield client


class Batches:
    """Sends runs in batches, and takes what comes of them.

    Runs whose batch did not come back are sent again, each by itself, so that others are not lost
    with them.
    """

    def __init__(self, client: Client, token: str, versions: dict[str, str], retries: int) -> None:
        self._client, self._token = client, token
        self._versions, self._retries = versions, retries
        self._sent: dict[Any, tuple[Sequence[Task], int]] = {}
        self._again: deque[tuple[Task, int]] = deque()
        self._seconds = BATCH_SECONDS  # of a run; the first ones go alone
        self._left = 0
        self._thread_count, self._counted = 1, -1.0

    def execute(self, tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        self._left = count
        completed = as_completed(raise_errors=False)
        self._fill(completed, tasks)
        for future in completed:
            batch, losses = self._sent.pop(future)
            yield from self.settle(future, batch, losses)
            self._fill(completed, tasks)

    def cancel(self) -> None:
        """Whatever is under way is not waited for."""
        if self._sent:
            self._client.cancel(list(self._sent), force=True)

    def _fill(self, completed: Any, tasks: Iterator[Task]) -> None:
        """Send batches until enough are waiting, or there are no more runs."""
        # All workers have so many threads; those that came or went count after a second.
        if monotonic() > self._counted + 1:
            self._thread_count = max(1, sum(self._client.nthreads().values()))
            self._counted = monotonic()
        threads = self._thread_count
        while len(self._sent) < BATCHES_AHEAD * threads:
            losses = 0
            if self._again:
                task, losses = self._again.popleft()
                batch = [task]
            else:
                # Batches get smaller towards the end, so that no worker waits for another.
                share = ceil(self._left / (threads * BATCHES_AHEAD)) if self._left else 1
                most = int(BATCH_SECONDS / max(self._seconds, 1e-4))
                batch = list(islice(tasks, max(1, min(most, MAX_BATCH, share))))
                self._left -= len(batch)
            if not batch:
                return
            key = f"ksched-{self._token}-{uuid4().hex}"
            future = self._client.submit(
                run_batch, self._token, self._versions, batch, key=key, pure=False
            )
            self._sent[future] = (batch, losses)
            completed.add(future)

    def settle(
        self, future: Any, batch: Sequence[Task], losses: int
    ) -> Iterator[tuple[Task, Outcome]]:
        """Yield the outcomes of a batch; none where its runs are sent again."""
        if future.status == "finished":
            outcomes = future.result()
            self._seconds = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
            yield from zip(batch, outcomes, strict=True)
            return
        error = future.exception() if future.status == "error" else None
        if isinstance(error, UsageError):
            raise error
        if losses < self._retries:
            self._again.extend((task, losses + 1) for task in batch)
            return
        reason = f"{type(error).__name__}" if error is not None else "the cluster dropped the run"
        for task in batch:
            message = f"no worker came back with it, {losses + 1} times: {reason}"
            yield task, Failed(status=LOST, error=message)
