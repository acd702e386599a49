"""Processes of Python that ksched starts of itself."""

from __future__ import annotations

import os
import sys


def python_process(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a Python with these arguments, which imports
    what this process imports and nothing from the current folder: agents and CI jobs start ksched
    in folders of other people, where a `yaml.py` may lie."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return [sys.executable, "-P", *arguments], environment
