"""What `config migrate` says: a line per remark."""

from __future__ import annotations

from ksched_cli.config.migration.remarks import Remark, RemarkKind


def is_warning(remark: Remark) -> bool:
    """Whether the new file does not take effect as the old one did."""
    return remark.kind is not RemarkKind.CHANGED


def line(remark: Remark, source_name: str) -> str:
    """As `FILE:LINE: MESSAGE; HINT`; what is about the new file has its path there."""
    if remark.kind is RemarkKind.REFUSED:
        place = f"the new file, line {remark.line}" if remark.line else "the new file"
        begin = f"kube-scheduler refuses {place}: {remark.path}"
    elif remark.kind is RemarkKind.DIFFERS:
        begin = f"the new file takes effect otherwise: {remark.path}"
    else:
        begin = f"{source_name}:{remark.line}" if remark.line else source_name
    hint = f"; {remark.hint}" if remark.hint else ""
    return f"{begin}: {remark.message}{hint}"
