"""Edits of a configuration for findings that have one right edit; all other lines stay as they are,
comments included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff

from ksched_cli import program_name
from ksched_cli.analysis.reviewer import ReviewedText, Reviewer
from ksched_cli.config.checks.findings import Edit, Finding
from ksched_cli.config.sources import ConfigurationText, with_text
from ksched_cli.errors import UsageError
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.yaml_errors import YamlError

MAX_EDITS = 500


@dataclass(frozen=True, slots=True)
class EditedText:
    """A configuration after its edits.

    before, after: as they were reviewed; mended: the findings that the edits mended
    """

    before: ReviewedText
    after: ReviewedText
    mended: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file after the edits of its configurations.

    count: of edits
    """

    path: str
    before: bytes
    after: bytes
    count: int

    @classmethod
    def of(cls, path: str, texts: Sequence[EditedText]) -> EditedFile:
        """texts: all configurations of the file. Raises UsageError where one cannot be written in
        its place"""
        source = texts[0].before.source
        before = after = source.file if source.object else source.raw
        # The last one first, as each may change how many lines come before the next.
        for text in sorted(texts, key=lambda each: -each.before.source.place.line):
            source = text.before.source
            content = with_text(source, text.after.source.text, after) if text.mended else after
            if content is None:
                command = f"{program_name()} validate {path}"
                raise UsageError(
                    f"{source.name} cannot be edited in its place, where it has no lines of its "
                    f"own; `{command}` shows what to edit"
                )
            after = content
        return cls(path, before, after, sum(len(text.mended) for text in texts))

    @property
    def diff(self) -> str:
        """Return what the edits change in the file, as `patch -p0` takes it."""
        before, after = (
            raw.decode("utf-8", "replace").splitlines(keepends=True)
            for raw in (self.before, self.after)
        )
        return "".join(unified_diff(before, after, self.path, self.path))


def edited(source: ConfigurationText, reviewer: Reviewer) -> EditedText:
    """Make one edit after the other, and review the configuration after each: an edit that does not
    mend its finding is left out. What the finding hid may come to light. Raises KschedError."""
    before = after = reviewer.review(source)
    mended: list[Finding] = []
    tried: set[Edit] = set()
    while len(mended) < MAX_EDITS:
        finding = next(
            (
                each
                for each in after.review.findings
                if each.edit is not None and each.edit not in tried
            ),
            None,
        )
        if finding is None or finding.edit is None:
            break
        tried.add(finding.edit)
        # The edit is not made where it would cost style.
        try:
            document = EditableDocument(after.source.text)
        except (YamlError, ValueError):
            continue
        if document.changed_style:
            continue
        edit = finding.edit
        if edit.is_key:
            document.rename(edit.path, str(edit.value))
        elif edit.value is None:
            document.delete(edit.path)
        else:
            document.put(edit.path, edit.value)
        text = document.text
        if text == after.source.text:
            continue
        reviewed = reviewer.review(replace(source, raw=text.encode()))
        left = {(each.rule, each.path) for each in reviewed.review.findings}
        if (finding.rule, finding.path) not in left:
            after = reviewed
            mended.append(finding)
    return EditedText(before, after, tuple(mended))
