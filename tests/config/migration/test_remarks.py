"""Remarks have their lines, in order, each once."""

from ksched_cli.config.migration.settle import Remark, RemarkKind, Remarks


def test_remarks_are_by_line_and_those_about_the_result_last() -> None:
    remarks = Remarks("a: 1\nb:\n- c\n")
    remarks.put(Remark(RemarkKind.REFUSED, "a", 1, "no"))
    remarks.lost(("b", 0), "gone")
    remarks.changed(("a",), "new", "hint")
    remarks.changed(("a",), "new", "hint")
    lines = [(str(item.kind), item.path, item.line) for item in remarks.in_order()]
    assert lines == [("changed", "a", 1), ("lost", "b[0]", 3), ("refused", "a", 1)]
