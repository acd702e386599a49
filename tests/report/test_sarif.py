"""Findings as SARIF."""

import json
from typing import Any

import jsonschema

from ksched_cli.analysis.configuration import ReviewedFile
from ksched_cli.analysis.reviewer import review_text
from ksched_cli.config.checks.rules import rules
from ksched_cli.config.sources import ConfigurationText
from ksched_cli.report.ci_forms import sarif
from tests.config.registries import HEAD, REGISTRY
from tests.report.published import published_schema

ZERO = "profiles:\n- plugins:\n    score:\n      enabled:\n      - {name: NodeAffinity, weight: 0}"


def of(path: str, *bodies: str) -> dict[str, Any]:
    sources = [ConfigurationText(path, (HEAD + body).encode()) for body in bodies]
    files = [ReviewedFile.of(review_text(source, REGISTRY)) for source in sources]
    document: dict[str, Any] = json.loads(sarif(files))
    return document


def test_it_is_as_the_standard_has_it() -> None:
    schema = json.loads(published_schema("sarif-2.1.0.json"))
    document = of("a b/c.yaml", "paralelism: 3\n", "", f"{ZERO}  # ksched: ignore[weight-zero]\n")
    document["$schema"] = schema.get("id", schema.get("$id", document["$schema"]))
    jsonschema.validate(document, schema)
    jsonschema.validate(of("/abs/c.yaml", "a: b: c"), schema)


def test_a_finding_names_its_rule_and_place() -> None:
    (run,) = of("conf/my config.yaml", "paralelism: 3\n")["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "unknown-key"
    assert (result["ruleId"], result["level"]) == ("unknown-key", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "conf/my%20config.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 1}


def test_every_rule_has_its_help() -> None:
    driver = of("c.yaml", "")["runs"][0]["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == list(rules())
    assert all(rule["help"]["text"] for rule in driver["rules"])


def test_an_ignored_finding_is_suppressed() -> None:
    (run,) = of("c.yaml", f"{ZERO}  # ksched: ignore[weight-zero]\n")["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource"}]
