"""A call ends when its time is up, and nothing of the limit is left afterwards."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.framework.failures import CallLimit, CallTimeoutError


def loop() -> None:
    while True:
        pass


def swallow() -> None:
    while True:
        try:
            time.sleep(10)
        except Exception:
            continue


@pytest.mark.parametrize("method", [loop, swallow, signal.pause])
def test_a_call_is_interrupted(method: Callable[[], Any]) -> None:
    with pytest.raises(CallTimeoutError, match=r"^it took longer than 0\.05 s$"):
        CallLimit(0.05).call(method)


def test_timer_and_handler_are_as_before() -> None:
    before = signal.getsignal(signal.SIGALRM)
    limit = CallLimit(5)
    assert limit.call(lambda first, second: first + second, 1, 2) == 3
    with pytest.raises(KeyError):
        limit.call({}.__getitem__, 1)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_call_within_a_call_has_the_outer_ones_time() -> None:
    limit = CallLimit(0.05)
    with pytest.raises(CallTimeoutError):
        limit.call(lambda: [limit.call(time.sleep, 0.04) for _ in range(100)])
    assert limit.call(int, "1") == 1


def test_there_is_no_limit_in_another_thread() -> None:
    errors: list[UsageError] = []

    def make() -> None:
        try:
            CallLimit(1)
        except UsageError as error:
            errors.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert len(errors) == 1


@pytest.mark.slow
def test_what_cannot_be_stopped_ends_the_process() -> None:
    script = """
from ksched_cli.framework import failures
failures.INTERVAL_SECONDS = 0.2
def loop():
    while True:
        try:
            while True:
                try:
                    while True: sum(())
                except BaseException: pass
        except BaseException: pass
while True:
    # On a busy machine the time can be up before the loop has begun.
    try: failures.CallLimit(0.5).call(loop)
    except failures.CallTimeoutError: pass
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "error: a plugin took longer than 0.5 s and cannot be stopped" in done.stderr
