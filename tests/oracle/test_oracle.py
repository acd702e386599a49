"""The oracle agrees with every conformance case, and ksched with the oracle on random ones.

Both need Go, two minutes for the first build, and time, so they run only where $KSCHED_ORACLE
says how many random cases per family there shall be.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.kube.versions import MINORS

HERE = Path(__file__).parent
CASES = os.environ.get("KSCHED_ORACLE", "")

pytestmark = [
    pytest.mark.skipif(not CASES, reason="set KSCHED_ORACLE=N for N random cases per family"),
    pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed; the oracle needs it"),
]


def run(script: str, *args: str) -> None:
    done = subprocess.run(
        [sys.executable, HERE / script, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize("minor", MINORS)
def test_oracle_agrees_with_every_conformance_case(minor: str) -> None:
    run("check_oracle.py", "--kubernetes-version", minor, "-v")


@pytest.mark.parametrize("minor", MINORS)
def test_ksched_agrees_with_the_oracle_on_random_cases(minor: str) -> None:
    run("fuzz.py", "--kubernetes-version", minor, "--count", CASES, "--no-save", "--shrink", "20")


def test_as_many_copies_fit_as_ksched_counts_and_not_one_more() -> None:
    run("capacity.py", "--count", CASES)


def test_remedies_place_the_pod_where_ksched_says() -> None:
    run("remedies.py", "--count", CASES)


def test_extenders_that_fail_have_the_same_outcome() -> None:
    run("extender_failures.py")


def test_mutated_objects_are_refused_as_the_api_refuses_them() -> None:
    run("../fuzz/api_decoder.py", "--count", str(100 * int(CASES)))
