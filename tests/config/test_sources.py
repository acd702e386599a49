"""Configurations in files, folders, globs and other objects, with their places there."""

import json
from pathlib import Path

import pytest

from ksched_cli.analysis.reviewer import review_text
from ksched_cli.config.sources import Sources, find_configurations, read_configuration_text
from ksched_cli.errors import InputError
from tests.config.registries import HEAD, REGISTRY

WRONG = HEAD + "paralelism: 3\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler, namespace: kube-system}
data:
  other.conf: "a"
  config.yaml: |
    # ours

    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    paralelism: 3
"""
HOLDER = "ConfigMap kube-system/scheduler: data.config.yaml"
VALUES = """\
replicas: 2
scheduler:
  # read by the template
  config:
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
# less indented
    paralelism: 3
after: true
"""
ESCAPED = WRONG.replace("\n", "\\n")
QUOTED = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: scheduler}}
data: {{"config": "{ESCAPED}"}}
"""
FLOW = """\
config: {apiVersion: kubescheduler.config.k8s.io/v1,
  kind: KubeSchedulerConfiguration, paralelism: 3}
"""
JSON_LIST = f"""\
{{"kind": "List", "items": [{{"kind": "ConfigMap", "metadata": {{"name": "c"}},
  "data": {{"config": "{ESCAPED}"}}}}]}}
"""


def write(folder: Path, **files: str) -> str:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def names(sources: Sources) -> list[str]:
    return [Path(text.path).stem for text in sources.texts]


@pytest.mark.parametrize(
    ("text", "holder", "place"),
    [
        (WRONG, "", (3, 1)),
        (CONFIG_MAP, HOLDER, (11, 5)),
        (f"{NAMESPACE}---\n{CONFIG_MAP}", HOLDER, (15, 5)),
        (VALUES, "scheduler.config", (8, 5)),
        (QUOTED, "ConfigMap scheduler: data.config", (4, 18)),
        (FLOW, "config", (2, 37)),
        (JSON_LIST, "ConfigMap c: data.config", (2, 22)),
        (NAMESPACE + "---\n" + WRONG, "document 2", (7, 1)),
    ],
    ids=["a file", "a ConfigMap", "after another document", "a chart's values", "in quotes",
         "flow style", "a list in JSON", "a further document"],
)  # fmt: skip
def test_a_finding_has_its_place_in_the_file(
    tmp_path: Path, text: str, holder: str, place: tuple[int, int]
) -> None:
    write(tmp_path, c=text)
    sources = find_configurations([str(tmp_path / "c.yaml")])
    reviewed = [review_text(source, REGISTRY) for source in sources.texts]
    assert [(item.source.object) for item in reviewed] == [holder]
    places = [(f.rule, f.line, f.column) for f in reviewed[0].review.findings]
    assert places == [("unknown-key", *place)]


def test_every_configuration_of_a_file_counts(tmp_path: Path) -> None:
    write(tmp_path, c=f"{CONFIG_MAP}---\n{VALUES}")
    assert len(find_configurations([str(tmp_path)]).texts) == 2


def test_a_folder_is_read_through_and_other_files_are_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path, b=WRONG, a__x=CONFIG_MAP, other=NAMESPACE, **{".git__c": WRONG})
    (tmp_path / "notes.txt").write_text(WRONG)
    sources = find_configurations([folder])
    assert names(sources) == ["b", "x"]
    assert [Path(path).name for path in sources.passed_over] == ["other.yaml"]


def test_a_file_in_a_folder_that_only_speaks_of_one_is_passed_over(tmp_path: Path) -> None:
    script = 'data: {run.sh: "#!/bin/sh\\ncat <<E\\nkind: KubeSchedulerConfiguration\\nE\\n"}\n'
    folder = write(tmp_path, c=f"{script}---\ntext: 'kind: KubeSchedulerConfiguration'\n")
    sources = find_configurations([folder])
    assert (len(sources.texts), len(sources.passed_over)) == (0, 1)


def test_a_template_is_told_apart_from_broken_text(tmp_path: Path) -> None:
    template = CONFIG_MAP.replace("ours", "{{ .Values.x }}").replace("{name:", "{{ .x }}{name:")
    folder = write(tmp_path, template=template, broken=HEAD + "a: b: c\n")
    sources = find_configurations([folder])
    assert [Path(path).stem for path in sources.templates] == ["template"]
    assert names(sources) == ["broken"]


def test_a_named_file_must_hold_one_unless_others_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, other=NAMESPACE)
    path = str(tmp_path / "other.yaml")
    (text,) = find_configurations([path]).texts
    assert review_text(text, REGISTRY).review.findings[0].rule == "wrong-kind"
    assert find_configurations([path], skip_others=True) == Sources((), (path,))


def test_globs_are_expanded_and_each_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, a=WRONG, b__c=WRONG)
    pattern = str(tmp_path / "**" / "*.yaml")
    assert names(find_configurations([pattern, str(tmp_path), pattern])) == ["a", "c"]
    with pytest.raises(InputError, match="no file matches"):
        find_configurations([str(tmp_path / "*.yml")])


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_configurations([str(tmp_path / "c.yaml")])


def test_a_file_whose_name_has_a_number_sign_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a#b.yaml").write_text(WRONG)
    (tmp_path / "a").write_text(VALUES)
    assert read_configuration_text(str(tmp_path / "a#b.yaml")).raw == WRONG.encode()
    assert read_configuration_text(str(tmp_path / "a#config")).object == "scheduler.config"
    assert read_configuration_text(str(tmp_path / "a#b.yaml#1")).object == ""


@pytest.mark.parametrize(
    ("name", "holder"),
    [
        ("config.yaml", HOLDER),
        ("data.config.yaml", HOLDER),
        ("kube-system/scheduler", HOLDER),
        ("scheduler:config.yaml", HOLDER),
        ("scheduler.config", "scheduler.config"),
        ("batch", "document 3"),
        ("2", "scheduler.config"),
    ],
)
def test_whatever_only_this_one_has_is_a_name(tmp_path: Path, name: str, holder: str) -> None:
    batch = HEAD + "profiles: [{schedulerName: batch}]\n"
    write(tmp_path, c="---\n".join((CONFIG_MAP, VALUES, batch)))
    assert read_configuration_text(f"{tmp_path}/c.yaml#{name}").object == holder
    texts = find_configurations([f"{tmp_path}/c.yaml#{name}"], skip_others=True).texts
    assert [text.object for text in texts] == [holder]


def test_the_error_about_several_lists_references_that_choose(tmp_path: Path) -> None:
    other = CONFIG_MAP.replace("name: scheduler", "name: batch scheduler")
    path = f"{tmp_path}/c.yaml"
    write(tmp_path, c="---\n".join((CONFIG_MAP, other, other, VALUES)))
    with pytest.raises(InputError) as caught:
        read_configuration_text(path)
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert lines[0] == f"{path}: this file has 4 configurations"
    assert [line.split("  ")[0] for line in lines[2:]] == [
        f"{path}#scheduler",
        f"{path}#2",
        f"{path}#3",
        f"{path}#config",
    ]


def test_a_name_with_a_space_is_quoted_and_of_many_the_first_are_listed(tmp_path: Path) -> None:
    keys = "".join(f"    key {number}: {json.dumps(WRONG)}\n" for number in range(30))
    path = tmp_path / "c.yaml"
    path.write_text(f"data:\n{keys}")
    with pytest.raises(InputError) as caught:
        read_configuration_text(str(path))
    lines = str(caught.value).splitlines()
    assert lines[2].split("  ")[2] == f"'{path}#key 0'"
    assert (len(lines), lines[-1].strip()) == (23, "and 10 more")


def test_json_in_json_is_met_in_a_folder(tmp_path: Path) -> None:
    inner = json.dumps({"apiVersion": HEAD.split()[1], "kind": HEAD.split()[3]})
    (tmp_path / "c.json").write_text(json.dumps({"kind": "ConfigMap", "data": {"c": inner}}))
    sources = find_configurations([str(tmp_path)])
    assert [text.object for text in sources.texts] == ["ConfigMap: data.c"]
