"""The kinds of input that are mutated, and which commands read them."""

from __future__ import annotations

import answer_subjects
import question_subjects
import run_subjects
import state_subjects

SUBJECTS = (
    *state_subjects.SUBJECTS,
    *run_subjects.SUBJECTS,
    *answer_subjects.SUBJECTS,
    *question_subjects.SUBJECTS,
)
