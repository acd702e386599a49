"""The page of `fix` shows what the record has."""

from ksched_cli.report.fix import change_option
from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf


def test_remedies_are_those_of_the_record_with_what_they_cost(page_of: PageOf) -> None:
    objects = (node("a", cpu=2), pod("p", cpu=3))
    document, page = page_of("fix", "p", objects=objects)
    assert document["remedies"]
    text = " ".join(page.text)
    for number, remedy in enumerate(document["remedies"], 1):
        assert f"{number}. {remedy['text']}" in text
        for change in remedy["changes"]:
            assert change_option(change) in text
    assert "What they cost" in page.text


def test_where_nothing_helps_the_reasons_are_shown(page_of: PageOf) -> None:
    document, page = page_of("fix", "p", "--allow-empty-state", objects=(pod("p", cpu=3),))
    assert not document["remedies"]
    assert f"remedies {len(document['remedies'])}" in " ".join(page.text)


def test_a_pod_that_has_a_node_needs_no_remedy(page_of: PageOf) -> None:
    document, page = page_of("fix", "p", objects=(node("a"), pod("p")))
    assert document["node"] == "a"
    assert "needs no remedy" in " ".join(page.text)
