"""What `config migrate` says."""

import pytest

from ksched_cli.config.migration.migrate import ConfigurationMigration
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.report.configuration import is_warning, remark_line
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
