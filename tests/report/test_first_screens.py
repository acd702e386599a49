"""What `status`, `drain` and `capacity -f` show of a cluster of 60 nodes in EKS's form, at two
widths: the first line is the answer.

Where a screen changes on purpose, `python -m pytest tests/report/test_first_screens.py --golden`
writes the files anew: look at each before it is committed.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.drain import DrainNodes
from ksched_cli.analysis.fits import Fits
from ksched_cli.analysis.question import Question, ask
from ksched_cli.analysis.status import ShowFullness, ShowStatus
from ksched_cli.library.run import Run, inputs_of
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import Limit
from tests.report.eks import NAMES, cluster_objects, deployment

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (80, 120)

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


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(state=cluster_objects())


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_first_screen_answers_at_every_width(
    name: str, run: Run, request: pytest.FixtureRequest
) -> None:
    question, first = QUESTIONS[name]
    inputs, described = inputs_of([run])
    text_at = partial(render, ask(question, *described, inputs=inputs), Form.TABLE)
    for width in WIDTHS:
        text = text_at(Limit(width, 40))
        prose = [line for line in text.splitlines() if not line.startswith("  kubectl ")]
        assert max(map(len, prose)) <= width
        assert " ".join(text.split()).startswith(first)
        path = GOLDEN / f"{name}-{width}.txt"
        if request.config.getoption("golden"):
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8")
