"""Old files come to what the cases say, and take effect as they did."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.config.migration.migrate import ConfigurationMigration, migrate
from ksched_cli.errors import InputError
from tests.config.registries import REGISTRY

CASES = yaml.load((Path(__file__).parent / "cases.yaml").read_text(), yaml.CSafeLoader)
HEAD = "apiVersion: kubescheduler.config.k8s.io/{}\nkind: KubeSchedulerConfiguration\n"


def migrated(text: str) -> ConfigurationMigration:
    return migrate(text, "old.yaml", REGISTRY)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_old_file_comes_to_what_the_case_says(case: dict[str, Any]) -> None:
    migration = migrated(case["old"])
    if "new" in case:
        assert migration.text == case["new"]
    assert case.get("part_of_new", "") in migration.text
    remarks = sorted((str(item.kind), item.path, item.message) for item in migration.remarks)
    expected = sorted(map(tuple, case["remarks"]))
    assert [remark[:2] for remark in remarks] == [remark[:2] for remark in expected]
    for (*_, message), (*_, part) in zip(remarks, expected, strict=True):
        assert part in message
    assert migration.complete == all(kind == "changed" for kind, *_ in expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_came_out_is_not_migrated_again(case: dict[str, Any]) -> None:
    text = migrated(case["old"]).text
    again = migrated(text)
    assert (again.text, again.remarks) == (text, ())


def test_remarks_have_the_lines_of_the_old_file() -> None:
    body = "parallelism: 4\nhealthzBindAddress: ''\nmetricsBindAddress: ''\n"
    migration = migrated(HEAD.format("v1beta2") + body)
    lines = {remark.path: remark.line for remark in migration.remarks}
    assert (lines["healthzBindAddress"], lines["metricsBindAddress"]) == (4, 5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- 1\n", "this is no KubeSchedulerConfiguration"),
        (HEAD.format("v1alpha2"), "v1alpha2 cannot be migrated"),
        ("kind: Pod\napiVersion: v1\n", "Pod of v1 cannot be migrated"),
        ("kind: Service\napiVersion: v1\n", "Service of v1 cannot be migrated"),
        (HEAD.format("v1beta3").replace("KubeS", "S"), "SchedulerConfiguration of kubescheduler"),
        (HEAD.format("v1beta3").replace("k8s.io", "example"), "example/v1beta3 cannot be migrated"),
        ('{"apiVersion": "v1", "kind": "Policy", "extenders": [1e400]}', "1e400 is out of range"),
        ("a: [\n", "not YAML"),
        ('{"a": \n', "not JSON"),
    ],
)
def test_what_is_no_old_configuration_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=r"old\.yaml") as error:
        migrated(text)
    assert problem in str(error.value)


def test_anchors_are_written_out_and_that_is_said() -> None:
    text = HEAD.format("v1beta3") + (
        "profiles:\n- schedulerName: a\n"
        "  plugins: &p {score: {disabled: [{name: ImageLocality}]}}\n"
        "- schedulerName: b\n  plugins: *p\n"
    )
    migration = migrated(text)
    assert "anchors" in migration.remarks[0].message
    assert "*p" not in migration.text


def test_plugins_of_other_builds_stay_where_they_are() -> None:
    text = HEAD.format("v1beta3") + (
        "profiles:\n- schedulerName: a\n  plugins:\n"
        "    multiPoint: {enabled: [{name: NodeResourcesAllocatable}]}\n"
        "    score: {enabled: [{name: Mine, weight: 3}]}\n"
        "  pluginConfig:\n  - name: Mine\n"
        "    args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}\n"
    )
    migration = migrated(text)
    assert migration.text == text.replace("v1beta3", "v1")
    assert migration.complete
    (remark,) = migration.remarks
    assert "the args of Mine say" in remark.message


BETA = HEAD.format("v1beta1")


@pytest.mark.parametrize(
    "text",
    [
        BETA + "profiles: 3\n",
        BETA + "profiles: [null, 3]\n",
        BETA + "profiles: [{plugins: [1]}]\n",
        BETA + "profiles: [{plugins: {filter: {enabled: 3}}}]\n",
        BETA + "profiles: [{plugins: {filter: {enabled: [{name: [a]}]}}}]\n",
        BETA + "profiles: [{plugins: {filters: {enabled: true}}}]\n",
        BETA + "profiles: [{plugins: {filters: {enabled: [{name: [a]}]}}}]\n",
        BETA + "profiles: [{pluginConfig: 1.5}]\n",
        BETA + "profiles: [{pluginConfig: [null, {name: NodeLabel, args: {presentLabels: 1}}]}]\n",
        "kind: Policy\napiVersion: v1\npredicates: true\npriorities: {a: 1}\nextenders: 3\n",
        "kind: Policy\napiVersion: v1\npriorities: [{name: EqualPriority, weight: {}}, null]\n",
        "kind: Policy\napiVersion: v1\nextenders: [null, {httpTimeout: x, tlsConfig: []}]\n",
    ],
)
def test_values_of_other_types_are_an_error_or_are_left_alone(text: str) -> None:
    try:
        outcome = migrated(text).text
    except InputError as error:
        outcome = error.problem
    assert outcome.startswith(("json: cannot unmarshal", "apiVersion: kubesch", "kind: KubeSch"))
