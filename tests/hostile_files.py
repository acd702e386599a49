"""A file of each kind that ksched reads, as bad as it can be, and what ksched does with it.

A process of its own is given the command lines, and an audit hook of Python's notes what happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ksched_cli.testing import node, pod
from tests.extenders.fixtures import config_text
from tests.extenders.servers import Server
from tests.live.fake_api_server import ApiServer

COLUMNS = ("runs code", "calls an address", "reads other files", "writes files")
KINDS = (
    "state", "configuration", "expectations", "sweep", "tune", "scenario", "timeline", "autoscaler",
    "study", "rows", "redaction key", "plugin", "kubeconfig",
    "recording of extenders",
)  # fmt: skip

# Runs command lines one after the other, and prints what each did in the folder `root`.
RUNNER = """
import contextlib, hashlib, io, json, os, ssl, sys
from pathlib import Path

root, commands = json.load(sys.stdin)
log = None

def hook(event, args):
    if log is None:
        return
    if event == "open" and isinstance(args[0], str):
        if args[2] & os.O_ACCMODE == os.O_RDONLY:
            note("opened", os.path.realpath(args[0]))
    elif event == "exec":
        note("executed", os.path.realpath(args[0].co_filename))
    elif event == "os.remove":
        log["removed"].append(os.path.realpath(args[0]))
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        if "run_process" not in str(args):  # which ksched starts for a sweep
            log["started"].append(str(args))
    elif event == "socket.connect" and isinstance(args[1], tuple):
        log["connected"].append(str(args[1]))

def note(key, path):
    if path.startswith(root + "/") and os.path.isfile(path):
        log[key].append(path)

def contents():
    files = [file for file in Path(root).rglob("*") if file.is_file()]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

def noting(load):  # OpenSSL opens files by itself
    def call(context, *paths, **named):
        for path in (*paths, *named.values()):
            if log is not None and path:
                note("opened", os.path.realpath(path))
        return load(context, *paths, **named)
    return call

for name in ("load_cert_chain", "load_verify_locations"):
    setattr(ssl.SSLContext, name, noting(getattr(ssl.SSLContext, name)))
sys.addaudithook(hook)
from ksched_cli.commands.main import main

for kind, arguments in commands:
    before, answer = contents(), {"kind": kind, "arguments": arguments, "code": 0}
    sys.argv, output = ["ksched", *arguments], io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        log = {key: [] for key in ("opened", "executed", "removed", "started", "connected")}
        try:
            main()
        except SystemExit as exit:
            answer["code"] = int(exit.code or 0)
        answer |= log
        log = None
    after = contents()
    answer["changed"] = [path for path in before | after if before.get(path) != after.get(path)]
    output.flush()
    answer["output"] = output.buffer.getvalue().decode()
    print(json.dumps(answer))
"""

PLUGIN = """
import pathlib, socket, subprocess, sys
from ksched_cli.api import FilterPlugin, SUCCESS

subprocess.run([sys.executable, "-c", ""])
pathlib.Path({far!r}, "absolute.yaml").read_text()
pathlib.Path({far!r}, "written").write_text("by a plugin")
socket.create_connection(("127.0.0.1", {port})).close()

class Worst(FilterPlugin):
    name = "Worst"
    def filter(self, state, pod, node):
        return SUCCESS
"""
CREDENTIALS = """
import json
token = {"access_token": "t", "token_expiry": "2100-01-01T00:00:00Z"}
print(json.dumps({"credential": token}))
"""
TUNE: Mapping[str, Any] = {
    "space": [{"path": "percentageOfNodesToScore", "between": [5, 100]}],
    "objectives": [{"metric": "nodesUsed", "goal": "minimize"}],
    "heldOut": {"seeds": 1},
    "trials": 1,
}


QUIET = """
from ksched_cli.api import FilterPlugin, SUCCESS

class Quiet(FilterPlugin):
    name = "Quiet"
    def filter(self, state, pod, node):
        return SUCCESS
"""
CALLING = ("configuration", "expectations", "sweep", "tune")
# What those name that name files: beside them, above them, by an absolute path, through a link.
ELSEWHERE = {"far/up", "far/absolute", "far/linked"}
READS = {
    "from its folder": {"files/near", *ELSEWHERE},
    "from this folder": {"here/near", *ELSEWHERE},
    "below it, through links": {"files/folder/inside", "far/linked", "far/below/deep"},
}


class Evil:
    """What a pickle may do to whoever reads it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return os.system, ("touch evil",)


def text_of(kind: str, **fields: Any) -> str:
    return json.dumps({"apiVersion": "ksched/v1", "kind": kind, **fields})


@dataclass(frozen=True)
class Trial:
    """A file of a kind, and the command lines that read it, with FILE for its path from `here`.
    others: what other files name that are on these lines"""

    file: str
    commands: Sequence[str]
    others: Sequence[str] = ()


@dataclass(frozen=True)
class Seen:
    """What all commands of a trial did. Paths begin in the root."""

    codes: Sequence[int]
    output: str
    code: Sequence[str]
    calls: Sequence[str]
    reads: frozenset[str]
    writes: frozenset[str]

    def in_column(self, column: str) -> set[str]:
        answers = (self.code, self.calls, self.reads, self.writes)
        return {*dict(zip(COLUMNS, answers, strict=True))[column]}


@dataclass(frozen=True)
class Place:
    """ksched is called in `here`, the files are in `files`; what these name is in both and in
    `far`."""

    root: Path
    extender: Server
    api: ApiServer

    def write(self, path: str, text: str) -> str:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return path

    def link(self, path: str, target: str) -> None:
        (self.root / path).symlink_to(target)

    def named(self, suffix: str = ".yaml") -> list[str]:
        return [
            f"near{suffix}",
            f"../far/up{suffix}",
            f"{self.root}/far/absolute{suffix}",
            f"link{suffix}",
        ]

    def configuration(self, kind: str, *extenders: dict[str, Any]) -> str:
        own = {"urlPrefix": f"{self.extender.url}/{kind}", "filterVerb": "filter"}
        text = yaml.safe_dump(json.loads(config_text(own, *extenders)))
        return self.write(f"files/call-{kind}.yaml", text)

    def make(self, certificates: str) -> None:
        """The files that others name. certificates: a client's key and certificate, and the CA's"""
        for folder in ("files", "here"):
            self.write(f"{folder}/near.yaml", json.dumps(node(f"near-{folder}")))
            self.write(f"{folder}/near.pem", certificates)
            for suffix in (".yaml", ".pem"):
                self.link(f"{folder}/link{suffix}", f"../far/linked{suffix}")
        for name in ("up", "absolute", "linked", "below/deep"):
            self.write(f"far/{name}.yaml", json.dumps(node(name.replace("/", "-"))))
            self.write(f"far/{name}.pem", certificates)
        self.write("files/folder/inside.yaml", json.dumps(node("inside")))
        self.link("files/folder/link.yaml", "../../far/linked.yaml")
        self.link("files/folder/below", "../../far/below")
        self.write("files/cluster.yaml", f"{json.dumps(node('a'))}\n{json.dumps(pod('p'))}")
        self.configuration("recorded")
        self.write("files/still.yaml", text_of("Timeline", events=[]))
        self.write("files/plain.yaml", text_of("Sweep", states="cluster.yaml"))
        self.write("files/goal.yaml", text_of("Tune", states="cluster.yaml", seeds=1, **TUNE))

    def trials(self) -> dict[str, Trial]:
        cluster, replay = "files/cluster.yaml", "replay ../files/still.yaml"
        state = f"--state ../{cluster}"
        changes = [f"apply -f {path}" for path in self.named()]
        runs = {"states": ["cluster.yaml", *self.named()], "changes": changes}
        recorded = f"{state} --config ../files/call-recorded.yaml"
        return {
            "state": Trial(self._state(), ["schedule --state FILE"]),
            "configuration": Trial(
                self._configuration(), [f"schedule {state} --config FILE", "validate FILE"]
            ),
            "expectations": Trial(
                self._file(
                    "Expectations",
                    state=["cluster.yaml", *self.named()],
                    config=self.configuration("expectations")[len("files/") :],
                    changes=changes,
                    plugins=[self.write("files/quiet.py", QUIET)[len("files/") :]],
                    expect=[{"pending": 0}],
                ),
                ["test FILE"],
            ),
            "sweep": Trial(
                self._file(
                    "Sweep",
                    **runs,
                    configurations=[self.configuration("sweep")[len("files/") :]],
                    plugins=[[], self.write("files/quiet.sweep.py", QUIET)[len("files/") :]],
                ),
                ["sweep FILE"],
            ),
            "tune": Trial(
                self._file(
                    "Tune",
                    **{**runs, "changes": [{"name": "all", "changes": changes}]},
                    **TUNE,
                    configuration=self.configuration("tune")[len("files/") :],
                    seeds=1,
                ),
                ["tune FILE"],
            ),
            "scenario": Trial(
                self._file("Scenario", changes=changes), [f"schedule {state} --scenario FILE"]
            ),
            "timeline": Trial(
                self._file("Timeline", events=[{"at": 1, "change": text} for text in changes]),
                [f"replay FILE {state}"],
            ),
            "autoscaler": Trial(
                self._file("Autoscaler", nodeGroups=[{"name": "g", "maxSize": 1, "like": "a"}]),
                [f"{replay} {state} --autoscaler FILE"],
            ),
            "study": Trial("files/study", ["tune ../files/goal.yaml --study FILE"], [cluster]),
            "rows": Trial("files/rows", ["sweep ../files/plain.yaml --rows FILE"], [cluster]),
            "redaction key": Trial("files/key", [f"snapshot - {state} --redact-key FILE"]),
            "plugin": Trial(self._plugin(), [f"schedule {state} --plugin FILE"]),
            "kubeconfig": Trial(
                self._kubeconfig(),
                [f"snapshot - --kubeconfig FILE --context {user}" for user in ("shows", "renews")],
            ),
            "recording of extenders": Trial(
                "files/calls.jsonl", [f"schedule {recorded} --replay-extenders FILE"]
            ),
            # No kinds of their own: what the trial before needs, a state that is a folder, and
            # whom a kubeconfig calls besides its API server.
            "recorded": Trial(
                "files/calls.jsonl", [f"schedule {recorded} --record-extenders FILE"]
            ),
            "folder": Trial("files/folder", ["schedule --state FILE"]),
            **{
                user: Trial("files/kubeconfig", [f"snapshot - --kubeconfig FILE --context {user}"])
                for user in ("issued", "proxied")
            },
        }

    def _file(self, kind: str, **fields: Any) -> str:
        return self.write(f"files/{kind.lower()}.yaml", text_of(kind, **fields))

    def _state(self) -> str:
        """With what would be a command, a path or an address elsewhere."""
        hostile = pod("p")
        annotation = f"{self.extender.url} apply -f near.yaml $(touch evil) !!python/name:os.system"
        hostile["metadata"]["annotations"] = {"a": annotation}
        return self.write("files/state.yaml", f"{json.dumps(node('a'))}\n{json.dumps(hostile)}")

    def _configuration(self) -> str:
        """An extender that is there, and one for each path that is not."""
        absent = {"filterVerb": "filter", "ignorable": True, "urlPrefix": "https://127.0.0.1:1"}
        return self.configuration(
            "configuration",
            *({**absent, "tlsConfig": {"caFile": path}} for path in self.named(".pem")),
        )

    def _plugin(self) -> str:
        source = PLUGIN.format(far=f"{self.root}/far", port=self.extender.port)
        return self.write("files/plugin.py", source)

    def _kubeconfig(self) -> str:
        """Users: one with certificates and a token, one whose program renews a token, one whose
        token an issuer renews; and one of a cluster behind a proxy."""
        _, up, absolute, link = self.named(".pem")
        program = self.write("far/credentials.py", CREDENTIALS)
        config = {"cmd-path": sys.executable, "cmd-args": f"{self.root}/{program}"}
        expired = "e30.eyJleHAiOjF9.e30"  # a JSON Web Token
        issued = {"id-token": expired, "idp-issuer-url": self.extender.url}
        users = {
            "shows": {"client-certificate": up, "client-key": absolute, "tokenFile": "near.yaml"},
            "renews": {"auth-provider": {"name": "gcp", "config": config}},
            "issued": {"auth-provider": {"name": "oidc", "config": issued}},
            "proxied": {},
        }
        cluster = {"server": self.api.url, "certificate-authority": link}
        clusters = {"c": cluster, "proxied": {**cluster, "proxy-url": self.extender.url}}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "shows",
            "clusters": [{"name": name, "cluster": each} for name, each in clusters.items()],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [
                {
                    "name": name,
                    "context": {"cluster": name if name in clusters else "c", "user": name},
                }
                for name in users
            ],
        }
        return self.write("files/kubeconfig", json.dumps(document))

    def run(self, command_lines: Sequence[tuple[str, Sequence[str]]]) -> list[dict[str, Any]]:
        """What each of them did. command_lines: with the kind that they are tried for"""
        run = subprocess.run(
            [sys.executable, "-c", RUNNER],
            cwd=self.root / "here",
            input=json.dumps([str(self.root), command_lines]),
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return [json.loads(line) for line in run.stdout.splitlines()]

    def seen(self, kind: str, trial: Trial, answers: Sequence[Mapping[str, Any]]) -> Seen:
        """The answers of one kind."""
        root = f"{self.root}/"

        def every(key: str) -> list[str]:
            return [text.removeprefix(root) for answer in answers for text in answer[key]]

        calls = [call.path for call in self.extender.calls if call.path.startswith(f"/{kind}/")]
        arguments = {word.removeprefix("../") for line in trial.commands for word in line.split()}
        mine = {trial.file, *trial.others, *arguments}
        reads = (path for path in every("opened") if "/__pycache__/" not in path)
        written = {*every("changed"), *({trial.file} & {*every("removed")})}
        return Seen(
            [answer["code"] for answer in answers],
            "\n".join(answer["output"] for answer in answers),
            every("executed") + every("started"),
            every("connected") + calls,
            frozenset(reads) - mine,
            frozenset(written),
        )
