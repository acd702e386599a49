"""What `config migrate` says, and the page of a migration."""

import pytest

from ksched_cli.config.migration.migrate import ConfigurationMigration
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.report.configuration import is_warning, remark_line
from ksched_cli.report.forms import Form, render
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import GroupsSection, Prose
from ksched_cli.report.view import shown_lines
from tests.report.schemas import conforms

REMARK = Remark(RemarkKind.LOST, "a.b", 3, "b is gone", "use c")


def test_the_document_has_the_text_and_every_remark() -> None:
    migration = ConfigurationMigration.of("Policy", "a: 1\n", (REMARK,))
    shown = conforms(migration, "configuration_migration")
    assert (shown["from"], shown["complete"], shown["text"]) == ("Policy", False, "a: 1\n")
    assert shown["remarks"][0]["line"] == 3


@pytest.mark.parametrize(
    ("remark", "text", "warns"),
    [
        (REMARK, "old.yaml:3: b is gone; use c", True),
        (Remark(RemarkKind.CHANGED, "a", None, "new"), "old.yaml: new", False),
        (
            Remark(RemarkKind.REFUSED, "a", 2, "no"),
            "kube-scheduler refuses the new file, line 2: a: no",
            True,
        ),
        (
            Remark(RemarkKind.DIFFERS, "p", None, "x is on"),
            "the new file takes effect otherwise: p: x is on",
            True,
        ),
    ],
)
def test_a_remark_is_a_line_with_its_place(remark: Remark, text: str, warns: bool) -> None:
    assert remark_line(remark, "old.yaml") == text
    assert is_warning(remark) == warns


MIGRATION = ConfigurationMigration.of(
    "v1beta3", "a: https://u:secret@x/\n", (Remark(RemarkKind.CHANGED, "a", 3, "new"), REMARK)
)


def test_the_new_file_is_printed_as_it_is_with_its_secrets() -> None:
    assert render(MIGRATION, Form.TABLE) == "a: https://u:secret@x/"
    assert "secret" in render(MIGRATION, Form.JSON)


def test_the_page_shows_what_is_lost_before_what_is_only_written_otherwise() -> None:
    page = page_of(MIGRATION)
    assert page.title == "The new file does not take effect as the old one does"
    remarks, text = page.sections
    assert isinstance(remarks, GroupsSection)
    assert [group.heading for group in remarks.groups] == ["line 3: a.b", "line 3: a"]
    assert [line.text for line in shown_lines(remarks.groups[0].lede)] == ["b is gone", "use c"]
    assert isinstance(text, Prose)
    assert (text.paragraphs, text.tone) == ([MIGRATION.text], "code")
