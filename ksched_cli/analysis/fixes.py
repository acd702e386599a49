"""Edits of a configuration for findings that have one right edit; all other lines stay as they are,
comments included."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import unified_diff

from ksched_cli.analysis.reviewer import ReviewedText, Reviewer
from ksched_cli.config.checks.findings import Edit, Finding
from ksched_cli.config.sources import ConfigurationText, with_text
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import read_file
from ksched_cli.kube.yaml_errors import YamlError

MAX_EDITS = 500


@dataclass(frozen=True, slots=True)
class FixedText:
    """A configuration after its edits.

    before, after: as they were reviewed; edited: the findings that the edits mended
    """

    before: ReviewedText
    after: ReviewedText
    edited: tuple[Finding, ...]

    @property
    def source(self) -> ConfigurationText:
        return self.before.source

    def content(self, path: str) -> bytes:
        """The file with the edits. Raises UsageError where they cannot be written there."""
        return with_text(self.source, self.after.source.text, path)

    def diff(self, path: str) -> str:
        """What the edits change in the file, as `patch -p0` takes it."""
        old = self.source.raw if not self.source.object else read_file(path)[0]
        before, after = (
            raw.decode("utf-8", "replace").splitlines(keepends=True)
            for raw in (old, self.content(path))
        )
        return "".join(unified_diff(before, after, path, path))


def fixed(source: ConfigurationText, reviewer: Reviewer) -> FixedText:
    """Make one edit after the other, and review the configuration after each: an edit that does not
    mend its finding, or that makes others, is left out. Raises KschedError."""
    before = after = reviewer.review(source)
    edited: list[Finding] = []
    tried: set[Edit] = set()
    while len(edited) < MAX_EDITS:
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
        text = _edited(after.source.text, finding.edit)
        if text is None:
            continue
        reviewed = reviewer.review(replace(source, raw=text.encode()))
        if _is_better(after, reviewed, finding):
            after = reviewed
            edited.append(finding)
    return FixedText(before, after, tuple(edited))


def _edited(text: str, edit: Edit) -> str | None:
    """The text after the edit; None where it cannot be made there without a loss of style."""
    try:
        document = EditableDocument(text)
    except (YamlError, ValueError):
        return None
    if document.changed_style:
        return None
    if edit.is_key:
        document.rename(edit.path, str(edit.value))
    elif edit.value is None:
        document.delete(edit.path)
    else:
        document.put(edit.path, edit.value)
    return document.text


def _is_better(before: ReviewedText, after: ReviewedText, mended: Finding) -> bool:
    """Whether the finding is gone. What it hid may come to light, but at no other place."""
    left = {(each.rule, each.path) for each in after.review.findings}
    return (mended.rule, mended.path) not in left and before.source.raw != after.source.raw
