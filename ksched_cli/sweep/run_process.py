"""A process that performs runs, so that a plugin that hangs or crashes ends that process alone.

Requests are pickles, which only the process writes that started this one. Answers are JSON, a line
each: where they are written, plugins run.
"""

from __future__ import annotations

import faulthandler
import os
import pickle  # nosec B403  # see above
import select
import signal
import subprocess  # nosec B404  # starts Python
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat
from math import inf
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, TypeAlias

import msgspec
from msgspec import structs

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.kube.job_commands import GuardedStream, is_job
from ksched_cli.kube.own_python import python_process
from ksched_cli.kube.streams import occupy_closed_streams, unfailing
from ksched_cli.run.run import Run
from ksched_cli.sweep.outcome import SERIAL, TIMEOUT, Performer, Task, outcome_of
from ksched_cli.sweep.preparation import Shared

# Gives every run with its outcome, in any order. The second argument is how many runs there are.
Executor = Callable[[Iterator[Task], int], Iterator[tuple[Task, Outcome]]]

# A process that ends by itself may have been ended by somebody else: the run is tried once more.
ATTEMPTS = 2
# The process ends itself so many seconds after its time, in case nobody is there to do it.
GRACE = 10.0
# A request of no more bytes than a pipe holds is written without waiting for the process.
PIPE_SIZE = 1 << 15
# After a longer run, a process gets no other ahead: another process may be free first.
AHEAD_SECONDS = 0.1
# For each process: the run that it performs, the next one, and one that waits.
RUNS_AHEAD = 3
_PROGRAM = "from ksched_cli.sweep.run_process import serve; serve()"


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """workers: how many to start on this machine; address: of the scheduler of a cluster, in place
    of them; without both, runs are made one after the other
    retries: how often runs are sent again whose worker is gone
    timeout: seconds that a run may take
    """

    workers: int = 0
    address: str = ""
    retries: int = 2
    timeout: float = 600.0


def serially(shared: Shared, timeout: float) -> Executor:
    """One run after the other, in a process that is not this one.

    timeout: seconds that a run may take
    """

    def execute(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        process = RunProcess(shared, timeout)
        try:
            for task, outcome in process.perform_all(tasks):
                yield task, structs.replace(outcome, worker=SERIAL)
        finally:
            process.close()

    return execute


# A run that has ended, or what broke while a thread waited for it.
_Ended: TypeAlias = "tuple[Task, Outcome] | BaseException"


def side_by_side(shared: Shared, options: ExecutorOptions) -> Executor:
    """As many runs at a time as there are workers, each in a process that a thread waits for."""

    def execute(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        waiting: SimpleQueue[Task | None] = SimpleQueue()
        ended: SimpleQueue[_Ended] = SimpleQueue()
        # After the last task comes what ends a thread.
        remaining = chain(tasks, repeat(None))

        def send() -> bool:
            task = next(remaining)
            waiting.put(task)
            return task is not None

        numbers = range(1, min(options.workers, count) + 1)
        pickled = pickle.dumps((shared, options.timeout))
        processes = [RunProcess(pickled, options.timeout) for _ in numbers]
        threads = [
            Thread(target=_perform_waiting, args=(process, f"local-{number}", waiting, ended))
            for number, process in zip(numbers, processes, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            under_way = sum(send() for _ in range(RUNS_AHEAD * len(threads)))
            while under_way:
                pair = ended.get()
                if isinstance(pair, BaseException):
                    raise pair
                under_way += send() - 1
                yield pair
        finally:
            for process in processes:
                process.close()
                waiting.put(None)
            for thread in threads:
                thread.join()

    return execute


def _perform_waiting(
    process: RunProcess, name: str, waiting: SimpleQueue[Task | None], ended: SimpleQueue[_Ended]
) -> None:
    try:
        for task, outcome in process.perform_all(iter(waiting.get, None), AHEAD_SECONDS):
            ended.put((task, structs.replace(outcome, worker=name)))
    except BaseException as error:
        ended.put(error)


class RunProcess:
    """Performs runs in a process of its own, which is started when it is needed, and again after
    it was ended.

    timeout: seconds that a run may take
    """

    def __init__(self, shared: Shared | bytes, timeout: float) -> None:
        """shared: or the pickle of it and the timeout, which several may have"""
        self._shared = shared if isinstance(shared, bytes) else pickle.dumps((shared, timeout))
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._states: set[tuple[tuple[str, ...], bool]] = set()  # that it has read
        self._ahead: Task | None = None  # that it has been sent besides the one it performs
        self._received = b""
        self._is_closed = False

    def perform_all(
        self, tasks: Iterable[Task], ahead: float = inf
    ) -> Iterator[tuple[Task, Outcome]]:
        """The runs one after the other. The process gets each while it performs the one before, so
        that it need not wait for it. ahead: only after a run of no more seconds"""
        remaining, seconds = iter(tasks), inf
        task = next(remaining, None)
        while task is not None:
            following = next(remaining, None) if seconds <= ahead else None
            outcome = self.perform(task, following)
            seconds = outcome.seconds
            yield task, outcome
            task = following or next(remaining, None)

    def perform(self, task: Task, following: Task | None = None) -> Outcome:
        """Perform a task in the process, which is started anew where it has ended. Raises nothing:
        what goes wrong is in the outcome. following: to be performed next"""
        ending = "it was closed"
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            try:
                return self._attempt(task, following)
            except TimeoutError:
                self._end()
                message = f"took longer than {self._timeout:g} s, and was ended"
                return Failed(status=TIMEOUT, error=message, seconds=self._timeout)
            except (EOFError, OSError, ValueError, RecursionError):
                ending = self._ending()
                self._end()
        return Failed(error=f"its process ended: {ending}", is_defect=True)

    def _attempt(self, task: Task, following: Task | None) -> Outcome:
        """Send a task to the process, and return its outcome. Raises EOFError, OSError,
        ValueError or RecursionError where the process ends, is closed or answers something else;
        TimeoutError."""
        process = self._process or self._start()
        if _state_of(task) not in self._states:
            self._send(process, pickle.dumps(task.run))
            self._answer(process, None)
            self._states.add(_state_of(task))
        if task is not self._ahead:
            self._send(process, pickle.dumps(task))
        self._ahead = None
        if following is not None and _state_of(following) in self._states:
            request = pickle.dumps(following)
            if len(request) <= PIPE_SIZE:
                self._send(process, request)
                self._ahead = following
        return outcome_of(self._answer(process, self._timeout))

    def _start(self) -> subprocess.Popen[bytes]:
        command, environment = python_process("-c", _PROGRAM)
        process = subprocess.Popen(  # nosec B603  # a program of constants
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._process = process
        if self._is_closed:  # by another thread, which did not see the process
            self._end()
            raise EOFError
        self._send(process, self._shared)
        return process

    def _send(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        stdin = _pipe(process.stdin)
        stdin.write(request)
        stdin.flush()

    def _answer(self, process: subprocess.Popen[bytes], timeout: float | None) -> Any:
        stdout = _pipe(process.stdout)
        while b"\n" not in self._received:
            readable, _, _ = select.select([stdout], [], [], timeout)
            if not readable:
                raise TimeoutError
            data = os.read(stdout.fileno(), PIPE_SIZE)
            if not data:
                raise EOFError
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return msgspec.json.decode(line)

    def _ending(self) -> str:
        """Return how the process ended, in words."""
        if self._process is None:
            return "it could not be started"
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "it does not answer"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def close(self) -> None:
        """End the process for good; whoever waits for it gets an outcome that says so."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        self._states.clear()
        self._ahead, self._received = None, b""
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # of what was still to be written to it
                    stream.close()


def _state_of(task: Task) -> tuple[tuple[str, ...], bool]:
    """Return the files that a process reads once for all Runs that name them."""
    return task.run.states, task.run.workloads


def _pipe(stream: Any) -> BinaryIO:
    pipe: BinaryIO = stream
    return pipe


def serve() -> None:
    """What the process does: reads what runs share from standard input, then Runs whose states are
    to be read and tasks to perform, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, for the sweep
    occupy_closed_streams()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever plugins print
    sys.stdout = sys.stderr = unfailing(sys.stderr)
    if is_job():
        sys.stdout = sys.stderr = GuardedStream(sys.stderr).as_text()
    requests = sys.stdin.buffer
    try:
        shared, timeout = pickle.load(requests)  # nosec B301  # of the process above this one
    except (EOFError, pickle.UnpicklingError):
        return  # it was closed before it began
    performer = Performer(shared)
    nowhere = open(os.devnull, "w")  # noqa: SIM115  # until the end
    while True:
        try:
            request = pickle.load(requests)  # nosec B301  # the same
        except (EOFError, pickle.UnpicklingError):
            return
        answer = None
        if isinstance(request, Run):
            performer.read(request)
        else:
            faulthandler.dump_traceback_later(timeout + GRACE, exit=True, file=nowhere)
            answer = performer.perform(request)
            faulthandler.cancel_dump_traceback_later()
        try:
            answers.write(msgspec.json.encode(answer) + b"\n")
            answers.flush()
        except BrokenPipeError:
            os._exit(0)
