"""The page of all pods that stay pending shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, titled


def test_every_group_has_its_reasons_and_its_pods(page_of: PageOf) -> None:
    objects = (node("a", cpu="2"), node("b", cpu="2"), pod("x", cpu="9"), pod("y", cpu="9"))
    document, page = page_of("explain", "--pending", objects=objects)
    assert "2 pods stay pending" in page.text
    text = " ".join(page.text)
    assert document["groups"][0]["message"] in text
    assert (
        "2 NodeResourcesFit: Insufficient cpu a: cpu: wants 9, 2 free of 2 (and 1 more as near)"
        in text
    )
    pods = [pod for group in document["groups"] for pod in group["pods"]]
    assert titled(page.data["grids"]["pods"])["Pod"] == pods


def test_pods_without_a_controller_share_a_group_by_message(page_of: PageOf) -> None:
    tall = (pod("x", cpu="9"), pod("y", cpu="9"), pod("z", "blue", cpu="9"))
    document, page = page_of("explain", "--pending", objects=(node("a", cpu="2"), *tall))
    assert len(document["groups"]) == 3
    assert "2 pods of no controller in default" in " ".join(page.text)


def test_where_nothing_waits_the_page_says_so(page_of: PageOf) -> None:
    _, page = page_of("explain", "--pending", objects=(node("a"), pod("p")))
    assert "No pod stays pending" in page.text


def test_a_group_that_is_shut_says_why_too(page_of: PageOf) -> None:
    """Beside its name: the first line of what is inside."""
    tall = [pod(f"p{i}", f"team-{i}", cpu=str(9 + i)) for i in range(5)]
    _, page = page_of("explain", "--pending", objects=(node("a", cpu="2"), *tall))
    text = " ".join(page.text)
    for i in range(5):
        assert text.count(f"requests cpu {9 + i}; ") == 2
