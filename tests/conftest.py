"""What every test has in common."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from ksched_cli.framework import discovery
from tests.extenders.fixtures import extended, serve  # noqa: F401  # fixtures

# A slow machine is no fault of the code; the examples are the same for everybody. CI draws more of
# them, with `--hypothesis-profile thorough`.
for profile, examples in (("ksched", 5), ("thorough", 30)):
    settings.register_profile(
        profile,
        deadline=None,
        derandomize=True,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("ksched")

# A process that a test starts would compile all of ksched again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Collecting takes a tenth of the time of the tests: it happens where a process has much garbage.
gc.disable()
MUCH = 3_000_000  # new objects, half a gigabyte

MOMENT = 0.005  # seconds; `--durations` does not list what takes less


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="Write the golden files anew.")


def runs_slow_tests(config: pytest.Config) -> bool:
    """What starts many processes, or many times the same, runs in CI, with the thorough profile,
    and where its file is named."""
    is_named = any(".py" in argument for argument in config.invocation_params.args)
    return is_named or config.getoption("--hypothesis-profile") == "thorough"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of slow tests alone are not imported where these do not run: some import much."""
    if collection_path.suffix != ".py" or runs_slow_tests(config):
        return None
    return "\npytestmark = pytest.mark.slow\n" in collection_path.read_text("utf-8") or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if runs_slow_tests(config):
        return
    slow = {item for item in items if item.get_closest_marker("slow")}
    if slow:
        config.hook.pytest_deselected(items=[*slow])
        items[:] = [item for item in items if item not in slow]


def pytest_collection_finish() -> None:
    """The thousands of tests that were collected stay: they are not searched for garbage."""
    gc.freeze()
    gc.collect(0)  # the count of new objects begins anew


def pytest_runtest_setup() -> None:
    if gc.get_count()[0] > MUCH:
        gc.collect()


def pytest_unconfigure() -> None:
    """Python's last collection need not look for garbage in what ends with the process."""
    gc.freeze()


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """A worker more than cores with `-n auto`: some tests wait."""
    return (yield) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker sends one report of a test that passes, that of the call, unless setup or teardown
    took long, and not that it begins and ends: sending and reading all of it takes longer than most
    tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > MOMENT:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file share fixtures: one process has all of them. Large files come first."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
        def _reschedule(self, node: Any) -> None:
            """After each test, xdist counts the tests of all files that the process had so far."""
            files = self.assigned_work[node]
            for file in [file for file, tests in files.items() if all(tests.values())]:
                del files[file]
            super()._reschedule(node)

    return Files(config, log)


@pytest.fixture
def runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps make their runs in this process; others take long to start."""
    from ksched_cli.sweep import execution, questions
    from tests.sweep.sweeps import in_this_process

    for module in (execution, questions):
        monkeypatch.setattr(module, "serially", lambda shared, timeout: in_this_process(shared))


@pytest.fixture(scope="session", autouse=True)
def hundred_columns() -> None:
    """Tables are as wide as in a pipe, and the oldest minor decides, wherever the tests run."""
    os.environ["COLUMNS"] = "100"
    os.environ["KSCHED_KUBERNETES_VERSION"] = "1.34"


@pytest.fixture(scope="session", autouse=True)
def no_plugins_of_others() -> Iterator[None]:
    """Distributions that are installed here have plugins that read kinds of their own."""
    with mock.patch.object(discovery, "entry_points", return_value=[]):
        yield


@pytest.fixture(scope="session", autouse=True)
def signals_as_in_a_terminal() -> None:
    """A shell in the background has its commands ignore SIGINT, and nohup SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
