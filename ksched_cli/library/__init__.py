"""Runs and questions for Python programs; `ksched_cli.api` has their names."""

from ksched_cli.answers import SHOWN
from ksched_cli.library import shown

SHOWN.update(json=shown.as_json, html=shown.page_in_frame, markdown=shown.page_as_markdown)
