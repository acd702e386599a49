"""The formats of files that ksched reads: examples, and the commands that read them."""

from __future__ import annotations

import answer_formats
import change_formats
import extended
import option_formats
import run_formats
import state_formats
import time_formats

FORMATS = (
    *state_formats.FORMATS,
    *change_formats.FORMATS,
    *option_formats.FORMATS,
    *run_formats.FORMATS,
    *time_formats.FORMATS,
    *extended.FORMATS,
    *answer_formats.FORMATS,
)
