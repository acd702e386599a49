"""The configurations that a file holds, each with its text, its place and its names."""

import json

import pytest

from ksched_cli.config.sources import ConfigurationText, TextPlace, configurations_in
from ksched_cli.errors import InputError, Position
from tests.config.registries import HEAD

METADATA = "metadata: {name: c, namespace: n}\n"


def inside(text: str) -> list[ConfigurationText]:
    return configurations_in(text.encode(), "c.yaml")


def only(text: str) -> ConfigurationText:
    (configuration,) = inside(text)
    return configuration


def config_map(value: str, metadata: str = METADATA) -> str:
    return f"kind: ConfigMap\n{metadata}data: {{config.yaml: {json.dumps(value)}}}\n"


def test_it_has_the_names_of_its_keys_and_of_the_object_that_holds_it() -> None:
    held = only(config_map(HEAD))
    assert held.object == "ConfigMap n/c: data.config.yaml"
    assert held.names == (
        "config.yaml", "data.config.yaml", "c", "n/c", "c:config.yaml", "c:data.config.yaml",
        "n/c:config.yaml", "n/c:data.config.yaml",
    )  # fmt: skip
    assert only(f"a:\n- b: {json.dumps(HEAD)}\n").names == ("b", "[0].b", "a[0].b")
    assert inside(f"{HEAD}---\n{HEAD}")[1].names == ()


def test_the_innermost_object_with_a_name_holds_it() -> None:
    item = json.loads(json.dumps({"kind": "ConfigMap", "metadata": {"name": "c"}}))
    listed = {"kind": "List", "items": [{**item, "data": {"config": HEAD}}]}
    assert only(json.dumps(listed)).object == "ConfigMap c: data.config"


def test_json_text_is_one_by_its_own_kind() -> None:
    configuration = '{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"%s"}'
    assert only(config_map(configuration % "KubeSchedulerConfiguration")).raw.startswith(b"{")
    assert not inside(config_map(configuration % "KubeSchedulerConfiguratio"))


def test_the_copy_of_the_object_that_kubectl_apply_keeps_is_none() -> None:
    applied = json.dumps({"data": {"config.yaml": HEAD}, "kind": "ConfigMap"}) + "\n"
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    metadata = f"metadata: {json.dumps({'name': 'c', 'annotations': annotation})}\n"
    assert only(config_map(HEAD, metadata)).object == "ConfigMap c: data.config.yaml"


def test_comments_above_a_mapping_are_its_own() -> None:
    text = f"kind: Namespace\n---\n# ours\n\n# and yours\n{HEAD}"
    held = only(text)
    assert held.text == f"# ours\n\n# and yours\n{HEAD}"
    assert held.place == TextPlace(3, 1, 0)
    nested = "a:\n  # of b\n  b:\n    # ours\n" + "".join(
        f"    {line}\n" for line in HEAD.split("\n")
    )
    assert only(nested).text.startswith(f"# ours\n{HEAD}")
    listed = "a:\n# of a\n- " + HEAD.replace("\n", "\n  ")
    assert only(listed).text.startswith(HEAD)


def test_anchors_of_the_rest_of_the_file_are_filled_in() -> None:
    body = HEAD.replace("\n", "\n  ") + "profiles: [{schedulerName: *name}]\n"
    held = only(f"name: &name batch\nscheduler:\n  {body}")
    assert held.data()["profiles"] == [{"schedulerName": "batch"}]
    assert held.place.position(4, 1) == Position(3, 3)
    unaliased = only(f"scheduler:\n  {body.replace('*name', chr(34) + '*' + chr(34))}")
    assert unaliased.text.startswith(HEAD)


def test_anchors_before_it_and_anchors_given_twice_do_not_cut_it() -> None:
    body = HEAD.replace("\n", "\n  ") + "parallelism: 3\n"
    anchored = only(f"scheduler: &a\n  {body}b: &a 1\n")
    assert anchored.text == f"{HEAD}parallelism: 3\n"
    assert anchored.place == TextPlace(2, 3, 2)
    flow = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"
    assert only(f"a: &a 1\nb: &a 2\nc: {flow}\n").data()["kind"]
    twice = only(f"a: &a 1\nb: &a 2\nscheduler: |\n  {body}")
    assert twice.place == TextPlace(4, 3, 2)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (HEAD + "a: b: c\n", "c.yaml:3:5: not YAML"),
        (config_map(HEAD + "a: b: c\n"), "c.yaml:3:21: ConfigMap n/c: data.config.yaml: not YAML"),
    ],
    ids=["a file", "a ConfigMap"],
)
def test_an_error_has_its_place_in_the_file_and_names_the_object(text: str, error: str) -> None:
    held = inside(text)[0] if "data" in text else ConfigurationText("c.yaml", text.encode())
    with pytest.raises(InputError) as caught:
        held.data()
    assert str(caught.value).startswith(error)
