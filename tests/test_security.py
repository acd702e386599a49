"""docs/security.md says what a file may make ksched do; every cell of its table is tried here."""

from __future__ import annotations

import hashlib
import pickle
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.extenders.servers import Server, everything
from tests.hostile_files import CALLING, COLUMNS, KINDS, READS, Evil, Place, Seen
from tests.live.fake_api_server import ApiServer

pytestmark = pytest.mark.slow

trustme = pytest.importorskip("trustme", reason="comes with the tests")

SECURITY = Path(__file__).parent.parent / "docs" / "security.md"


def claims() -> dict[str, dict[str, str]]:
    """Kind of file → column → what the document says."""
    _, _, text = SECURITY.read_text().partition("## What a file may make ksched do\n")
    lines = re.findall(r"^\|.*\|$", text.partition("\n## ")[0], re.M)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(rows[0][1:]) == COLUMNS
    return {kind: dict(zip(COLUMNS, cells, strict=True)) for kind, *cells in rows[2:]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    authority = trustme.CA()
    client, context = authority.issue_cert("client@test"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    extender = Server({f"/{kind}/filter": everything for kind in (*CALLING, "recorded")})
    api = ApiServer([node("a"), pod("p")], tls=context)
    place = Place(tmp_path_factory.mktemp("place").resolve(), extender, api)
    blobs = (client.private_key_and_cert_chain_pem, authority.cert_pem)
    place.make("".join(blob.bytes().decode() for blob in blobs))
    yield place
    extender.close()
    api.close()


@pytest.fixture(scope="module")
def seen(place: Place) -> dict[str, Seen]:
    """By kind."""
    trials = place.trials()
    order = ["recorded", *(kind for kind in trials if kind != "recorded")]
    lines = [
        (kind, line.replace("FILE", f"../{trials[kind].file}").split())
        for kind in order
        for line in trials[kind].commands
    ]
    answers = place.run(lines)
    return {
        kind: place.seen(kind, trial, [answer for answer in answers if answer["kind"] == kind])
        for kind, trial in trials.items()
    }


def test_every_kind_of_file_is_in_the_table() -> None:
    assert tuple(claims()) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_do_their_work(kind: str, seen: dict[str, Seen]) -> None:
    assert {*seen[kind].codes} <= {0, 1}, seen[kind].output
    assert "error: " not in seen[kind].output


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_does_is_what_the_document_says(
    kind: str, column: str, place: Place, seen: dict[str, Seen]
) -> None:
    claim, observed = claims()[kind][column], seen[kind].in_column(column)
    if claim == "no" or claim.startswith("no;"):
        assert not observed
    elif column == "writes files" and claim == "itself":
        assert observed == {place.trials()[kind].file}
    elif column == "writes files" and claim != "anything":
        assert claim == "what Python compiles, beside a plugin"
        assert observed
        assert all(path.startswith("files/__pycache__/quiet.") for path in observed)
    elif column == "reads other files" and claim != "anything":
        origin = claim.rpartition(", ")[2]
        others = {"from its folder": "here/near", "from this folder": "files/near"}
        stems = {path.rpartition(".")[0] for path in observed}
        assert stems >= READS[origin]
        assert others[origin] not in stems
    else:
        assert observed


def test_a_folder_of_states_is_read_through_links(seen: dict[str, Seen]) -> None:
    assert "below it, through links" in claims()["state"]["reads other files"]
    stems = {path.rpartition(".")[0] for path in seen["folder"].reads}
    assert stems == READS["below it, through links"]


@pytest.mark.parametrize(("user", "called"), [("issued", "issuer"), ("proxied", "proxy")])
def test_a_proxy_and_an_issuer_of_a_kubeconfig_are_called(
    user: str, called: str, place: Place, seen: dict[str, Seen]
) -> None:
    assert called in claims()["kubeconfig"]["calls an address"]
    assert f"('127.0.0.1', {place.extender.port})" in seen[user].calls


WORST = {
    "tag": b"!!python/object/apply:os.system ['touch evil']\n",
    "pickle": pickle.dumps(Evil()),
    "digest": hashlib.sha256(pickle.dumps(Evil())).digest() + pickle.dumps(Evil()),
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plugin"])
def test_what_is_no_file_of_the_kind_is_refused_and_nothing_of_it_is_run(
    kind: str, worst: dict[str, list[dict[str, Any]]]
) -> None:
    assert len(worst[kind]) == len(WORST)
    for answer in worst[kind]:
        assert (answer["code"], answer["executed"], answer["started"]) == (2, [], []), answer
        assert not [path for path in answer["changed"] if path.endswith("evil")]
        assert "Traceback" not in answer["output"]


@pytest.fixture(scope="module")
def worst(place: Place, seen: dict[str, Seen]) -> dict[str, list[dict[str, Any]]]:
    """By kind. seen: the files that others need are there then"""
    lines = []
    for kind, trial in place.trials().items():
        for name, content in WORST.items():
            path = place.root / f"worst-{kind.replace(' ', '-')}-{name}.yaml"
            path.write_bytes(content)
            lines.append((kind, trial.commands[0].replace("FILE", str(path)).split()))
    answers = place.run(lines)
    return {kind: [each for each in answers if each["kind"] == kind] for kind in KINDS}


def test_without_plugins_and_extenders_files_are_only_read(place: Place) -> None:
    """What the action does with the pull requests of forks."""
    trials = place.trials()
    safe = ["--no-plugins", "--no-extenders"]
    lines = []
    for kind in KINDS[: KINDS.index("study")]:
        command = trials[kind].commands[0].replace("FILE", f"../{trials[kind].file}")
        lines.append((kind, [*command.split(), *safe]))
    before = len(place.extender.calls)
    for answer in place.run(lines):
        refused = answer["kind"] in ("expectations", "sweep")
        assert answer["code"] == 2 if refused else answer["code"] in (0, 1), answer
        for key in ("executed", "started", "connected", "changed"):
            assert not answer[key], answer
    assert len(place.extender.calls) == before
