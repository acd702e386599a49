"""One renderer per form."""

import json
from typing import Any

import pytest
import yaml

from ksched_cli.report.forms import RENDERERS, Form, Report, render

DOCUMENT: dict[str, Any] = {
    "kind": "Anything",
    "long": "word " * 60,
    "text": "ü: 007",
    "list": [1, None, {}],
}


@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_json_and_yaml_say_the_same(form: Form) -> None:
    text = render(Report(document=lambda: DOCUMENT, table=str), form)
    assert yaml.safe_load(text) == DOCUMENT
    assert not text.endswith("\n")


def test_only_the_form_asked_for_is_made() -> None:
    def never() -> Any:
        raise AssertionError("not asked for")

    assert render(Report(document=never, table=lambda: "rows"), Form.TABLE) == "rows"


def test_every_form_has_a_renderer_or_is_of_one_result_alone() -> None:
    alone = {Form.SARIF, Form.GITHUB, Form.JUNIT, Form.CSV}
    assert set(RENDERERS) == set(Form) - alone
    for form in alone:
        result = Report(document=lambda: DOCUMENT, table=str, texts={form: lambda: "its own"})
        assert render(result, form) == "its own"


def test_json_keeps_letters_as_they_are() -> None:
    assert '"ü: 007"' in render(Report(document=lambda: DOCUMENT, table=str), Form.JSON)
    assert json.loads(render(Report(document=lambda: DOCUMENT, table=str), Form.JSON)) == DOCUMENT
