"""A large file that is read piece by piece gives what it gives as a whole, right or wrong."""

from __future__ import annotations

import gzip
import json
import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, structs

from ksched_cli.cluster.loading import json_pieces
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.kube import stored_bytes
from ksched_cli.kube.stored_bytes import StoredJson
from ksched_cli.testing import node, pod

Plain = dict[str, Any]
NO_JSON = Raw()
SMALL, EDGE, BLOCK = 2000, 700, 600
TEMPLATE = {"spec": {"containers": [{"name": "a"}, {"metadata": {"name": "x"}}], "metadata": [{}]}}


def items(count: int = 30) -> list[Plain]:
    """Pods of unequal lengths, with what may be taken for the end of an item inside."""
    pods = [
        {
            **pod(f"p{number}", cpu="10m", node="n"),
            "more": [TEMPLATE, TEMPLATE, "},{"] * (number % 3),
        }
        for number in range(count)
    ]
    pods[7]["metadata"]["annotations"] = {"long": "é},\n        {" * 400}
    return [node("n"), *pods]


def listed(kind: str = "List", **more: Any) -> Plain:
    return {"apiVersion": "v1", "items": items(), "kind": kind, "metadata": {}, **more}


def typed() -> Plain:
    """As the API server answers: items do not repeat their kind."""
    bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items()]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": bare[1:]}


FORMS = {
    "kubectl": json.dumps(listed(), indent=4),
    "a line": json.dumps(listed(), separators=(",", ":")),
    "a line with spaces": json.dumps(listed()),
    "a line of letters": json.dumps(listed(), ensure_ascii=False),
    "an object a line": '{"kind":"List","apiVersion":"v1","items":[\n'
    + ",\n".join(map(json.dumps, items()))
    + "\n]}\n",
    "no kinds": json.dumps(typed()),
    "no kinds, indented": json.dumps(typed(), indent=1),
    "two lists": json.dumps(listed(items=items()[:20])) + json.dumps(listed(items=items()[20:])),
    "an array": json.dumps(items()),
    "twice": json.dumps(listed())[:-1] + ', "items": []}',
    "nested": json.dumps(listed(items=[listed(items=items()[:15]), *items()[15:]])),
    "nulls": json.dumps(listed()).replace('"nodeName"', '"tolerations": null, "nodeName"'),
    "no list": json.dumps({**node("n"), "items": items(), "more": "x" * SMALL}),
    "byte order mark": "\ufeff" + json.dumps(listed(), indent=2),
}
WRONG = {
    "a number": json.dumps(listed(items=[*items(), 3])),
    "a comma": json.dumps(listed()).replace('}], "kind": "L', '},], "kind": "L'),
    "no comma": json.dumps(listed(), indent=4).replace("        },\n", "        }\n"),
    "a wrong cpu": json.dumps(listed(), indent=4).replace('"10m"', '"much"'),
    "a wrong cpu in a line": json.dumps(listed(), ensure_ascii=False).replace('"10m"', '"much"'),
    "not UTF-8": json.dumps(listed(), ensure_ascii=False),
    "nested too deeply": json.dumps(listed()).replace("[{}]", "[" * 10**5 + "]" * 10**5),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_bytes, "LARGE", SMALL)
    monkeypatch.setattr(json_pieces, "EDGE", EDGE)
    monkeypatch.setattr(json_pieces, "BLOCK", BLOCK)


def as_whole(path: Path) -> ClusterState:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_bytes, "LARGE", 1 << 30)
        return load_state([str(path)])


def contents(state: ClusterState, path: Path | str = "standard input") -> tuple[Any, ...]:
    """What is in a state that was read from a path."""
    pods = [(repr(structs.replace(each, raw=NO_JSON)), bytes(each.raw)) for each in state.pods]
    nodes = [repr(structs.replace(each, raw=NO_JSON)) for each in state.nodes]
    warnings = [line.replace(str(path), "FILE") for line in state.warnings]
    return pods, nodes, state.skipped, state.whole_kinds, warnings


@pytest.mark.parametrize("form", FORMS)
def test_pieces_are_the_whole(form: str, tmp_path: Path) -> None:
    path, packed = tmp_path / "state.json", tmp_path / "packed"
    text = FORMS[form].encode()
    path.write_bytes(text)
    half = len(text) // 2
    packed.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    expected = contents(as_whole(path), path)
    assert contents(load_state([str(path)]), path) == expected
    assert contents(load_state([str(packed)]), packed) == expected
    assert contents(load_state(["-"], BytesIO(text))) == expected


@pytest.mark.parametrize("form", ["kubectl", "a line", "an object a line", "no kinds"])
def test_large_files_stay_on_disk(form: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(FORMS[form])
    state = load_state([str(path)])
    assert all(isinstance(each.raw, StoredJson) for each in state.pods)
    copy = pickle.loads(pickle.dumps(state.pods[3]))
    assert bytes(copy.raw) == bytes(state.pods[3].raw)


def message(path: Path, *, whole: bool) -> str:
    with pytest.raises(InputError) as caught:
        as_whole(path) if whole else load_state([str(path)])
    return str(caught.value)


@pytest.mark.parametrize("form", WRONG)
def test_an_error_is_that_of_the_whole(form: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    text = WRONG[form].encode()
    path.write_bytes(text.replace("é".encode(), b"\xe9") if form == "not UTF-8" else text)
    assert message(path, whole=False) == message(path, whole=True)


@pytest.mark.parametrize("form", ["kubectl", "a line"])
def test_a_file_that_is_cut_anywhere_is_an_error(form: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    text = FORMS[form].encode()
    for length in range(1, len(text) - 1, 997):
        path.write_bytes(text[:length])
        assert message(path, whole=False) == message(path, whole=True)


def test_an_unknown_field_is_found_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(FORMS["kubectl"].replace('"nodeName"', '"nodeNme"'))
    (first, *_) = load_state([str(path)]).warnings
    assert first.startswith(f"{path}:")
    assert "did you mean nodeName?" in first
    assert load_state([str(path)]).warnings == as_whole(path).warnings
