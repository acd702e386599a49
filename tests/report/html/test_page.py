"""A page stands alone, runs nothing but its own script, and shows every text as text."""

from typing import Any

from ksched_cli.report.html.page import render_page
from tests.report.html.pages import cells, check_stands_alone

EVIL = "<script>alert('pod')</script>\u2028</script><img src=x onerror=alert(1)>\u202e\x1b[31m"


def document(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ksched/v1",
        "kind": "Anything",
        "kubernetesVersion": "v1.34.1",
        "warnings": [],
        **fields,
    }


def test_a_page_stands_alone() -> None:
    page = check_stands_alone(render_page(document(items=[{"name": "ü"}]), "zwölf", {}))
    assert "zwölf" in page.text
    assert "Kubernetes v1.34.1" in " ".join(page.text)
    assert [tag for tag, _ in page.tags].count("script") == 2


def test_names_and_messages_are_shown_as_text_everywhere() -> None:
    record = document(
        **{EVIL: "x"}, note=EVIL, items=[{"name": EVIL, EVIL: EVIL}], fields={EVIL: EVIL},
        changes=[{"text": EVIL, "did": [EVIL]}],
        warnings=[EVIL], kubernetesVersionFrom=EVIL,
    )  # fmt: skip
    page = check_stands_alone(render_page(record, f"{EVIL}\n{EVIL}", {}))
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in page.tags]
    shown = "<script>alert('pod')</script>\\u2028</script><img src=x onerror=alert(1)>"
    assert cells(page.data["grids"]["items"][0]) == [shown + "\\u202e\\x1b[31m"]
    assert sum(shown in text for text in page.text) >= 6


def test_a_page_is_the_same_every_time() -> None:
    assert render_page(document(a=1), "b", {}) == render_page(document(a=1), "b", {})
