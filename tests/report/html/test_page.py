"""A page is self-contained, runs nothing but its own script, and shows every text as text."""

import re
from typing import Any

from ksched_cli.analysis.drift import DriftResult, DriftSummary, PodDrift, Verdict
from ksched_cli.answers import AppliedChange
from ksched_cli.report.html.page import render_page
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.html.pages import cells, check_stands_alone

EVIL = "<script>alert('pod')</script>\u2028</script><img src=x onerror=alert(1)>\u202e\x1b[31m"


def answer(name: str, **more: Any) -> DriftResult:
    """A pod of that name, on a node of that name, which a plugin of that name rejects."""
    pod = PodDrift(name, f"a/Pod/{name}", name, Verdict.NOT_ALLOWED, rejected_by=name)
    return DriftResult(pods=(pod,), summary=DriftSummary.of((pod,)), **more)


ANSWER = answer("ü", kubernetes_version="v1.34.1")


def test_a_page_stands_alone() -> None:
    page = check_stands_alone(render_page(ANSWER))
    assert "ü" in page.text
    assert "Kubernetes v1.34.1" in " ".join(page.text)
    assert [tag for tag, _ in page.tags].count("script") == 2


def test_names_and_messages_are_shown_as_text_everywhere() -> None:
    record = answer(
        EVIL,
        changes=(AppliedChange(EVIL, (EVIL,)),),
        warnings=(EVIL,),
        kubernetes_version_from=EVIL,
    )
    page = check_stands_alone(render_page(record))
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in page.tags]
    shown = "<script>alert('pod')</script>\\u2028</script><img src=x onerror=alert(1)>"
    assert cells(page.data["grids"]["pods"][0]) == [shown + "\\u202e\\x1b[31m"]
    assert sum(shown in text for text in page.text) >= 6


def test_a_page_is_the_same_every_time() -> None:
    assert render_page(ANSWER) == render_page(ANSWER)


def test_only_sections_with_a_heading_are_in_the_contents(
    ksched: Ksched, write_state: WriteState
) -> None:
    pods = (pod("p", cpu="9"), pod("q", node="a", cpu="1"))
    state = write_state(node("a", cpu="4"), node("b", cpu="4"), *pods)
    page = ksched("status", "--state", state, "-o", "html")[1]
    assert 'href="#s2"' in page
    assert not re.search(r'<a href="#s\d+"></a>|<h2[^>]*></h2>', page)
