"""The fixtures that run commands."""

import json
from typing import Any

import pytest

from ksched_cli.testing import Manifest
from tests.commands import conftest
from tests.commands.runners import Ksched, WriteState
from tests.report.html.pages import PageOf, Parsed, check_stands_alone

exit_code = conftest.exit_code
ksched = conftest.ksched
write_state = conftest.write_state
write_config = conftest.write_config


@pytest.fixture
def page_of(ksched: Ksched, write_state: WriteState) -> PageOf:
    """A command's answer as JSON and as a page, which have the same exit code."""

    def answer(*args: Any, objects: tuple[Manifest, ...]) -> tuple[dict[str, Any], Parsed]:
        name, *options = args
        command = (name, "--state", write_state(*objects), *options, "-o")
        code, text, _ = ksched(*command, "json")
        html_code, html, error = ksched(*command, "html")
        assert code == html_code, error
        return json.loads(text), check_stands_alone(html)

    return answer
