"""What `status`, `drain` and `capacity -f` show of a cluster of 60 nodes in EKS's form, and ten
commands of one of 64 nodes in GKE's, at two widths: the first line is the answer.

Where a screen changes on purpose, `python -m pytest tests/report/test_first_screens.py --golden`
writes the files anew: look at each before it is committed.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.capacity import Capacity
from ksched_cli.analysis.drain import DrainNodes
from ksched_cli.analysis.drain_each import DrainEach
from ksched_cli.analysis.explain import Explain
from ksched_cli.analysis.fits import Fits
from ksched_cli.analysis.fix import Fix
from ksched_cli.analysis.preempt import Preempt
from ksched_cli.analysis.question import Question, ask
from ksched_cli.analysis.status import ShowFullness, ShowStatus
from ksched_cli.library.run import Run, inputs_of
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import Limit
from tests.report import eks, gke
from tests.report.eks import NAMES, deployment
from tests.thorough import is_thorough

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (80, 120)
COMMANDS = ("  kubectl ", "  --change ", "  ksched ")

QUESTIONS: dict[str, tuple[Question[Any], str]] = {
    "status": (
        ShowStatus(),
        "8 of 355 pods stay pending, 3 are gated; 4 of 60 nodes take no pods; ",
    ),
    "drain": (DrainNodes(nodes=(NAMES[0],)), "yes, all "),
    "drain-blocked": (
        DrainNodes(nodes=(NAMES[3],)),
        "no: budget shop/search allows 0 disruptions (9 of 9 needed healthy); and 1 other blocker",
    ),
    "drain-pool": (DrainNodes(selector="eks.amazonaws.com/nodegroup=memory"), "no: "),
    "capacity-file": (Fits(manifests=[deployment("portal", 12, "2", "4Gi")]), "all 12 fit, and "),
    "capacity-file-large": (Fits(manifests=[deployment("portal", 150, "3", "4Gi")]), ""),
    "capacity-alone": (ShowFullness(), ""),
}


# As the commands of gke.TEN ask them, with their namespaces.
TEN: dict[str, tuple[Question[Any], str]] = {
    "status": (ShowStatus(), ""),
    "explain": (Explain(pod="deployment/search"), "shop"),
    "explain-volume": (Explain(pod="postgres-9"), "data"),
    "fix": (Fix(pod="deployment/inference"), "ml"),
    "drain": (DrainNodes(nodes=(gke.DRAINED,)), ""),
    "drain-pool": (DrainNodes(selector=f"{gke.POOL}=spot"), ""),
    "capacity-file": (Fits(manifests=[gke.RELEASE]), ""),
    "capacity-more": (Capacity(pod="deployment/storefront"), "shop"),
    "drain-zones": (DrainEach(each="zone", failed=True), ""),
    "preempt": (Preempt(pod="hotfix"), "batch"),
}


# Each takes a second or more.
SLOW = ("fix", "drain-pool", "drain-zones")


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(state=eks.cluster_objects())


@pytest.fixture(scope="module")
def gke_run() -> Run:
    return Run(state=gke.cluster_objects())


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_first_screen_answers_at_every_width(
    name: str, run: Run, request: pytest.FixtureRequest
) -> None:
    question, first = QUESTIONS[name]
    for text in _screens(question, run, name, request):
        assert " ".join(text.split()).startswith(first)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in TEN]
)
def test_the_first_line_of_ten_answers_is_the_answer(
    name: str, gke_run: Run, request: pytest.FixtureRequest
) -> None:
    question, namespace = TEN[name]
    for text in _screens(question, gke_run.with_(namespace=namespace), f"gke-{name}", request):
        title = " ".join(text.partition("\n\n")[0].split())
        assert gke.TEN[name].answer in title[:120]


def _screens(
    question: Question[Any], run: Run, name: str, request: pytest.FixtureRequest
) -> Iterator[str]:
    """Yield the answer at each width, which is as its golden file says."""
    inputs, described = inputs_of([run])
    text_at = partial(render, ask(question, *described, inputs=inputs), Form.TABLE)
    for width in range(40, 201, 4 if is_thorough() else 20):
        lines = text_at(Limit(width, 40)).splitlines()
        prose = [line for line in lines if not line.startswith(COMMANDS)]
        assert max(map(len, prose)) <= width
    for width in WIDTHS:
        text = text_at(Limit(width, 40))
        yield text
        path = GOLDEN / f"{name}-{width}.txt"
        if request.config.getoption("golden"):
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8")
