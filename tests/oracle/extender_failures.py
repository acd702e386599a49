#!/usr/bin/env python3
"""Extenders that fail in every way of docs/extenders.md: kube-scheduler's decision and ksched's.

    extender_failures.py [--kubernetes-version MINOR] [-v]

The servers are those of tests/extenders. -v shows both messages where their words differ. Exit
status 0 when all decisions and errors are the same, 1 otherwise, 2 when the oracle cannot be built.
"""

import argparse
import json
import re
import ssl
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests/ is a package, this folder has scripts

import subject
from cases import OLDEST, differs
from releases import MODULES

from ksched_cli.masking import masked
from oracle import Oracle, UnavailableError
from tests.extenders.failures import FAILURES, PATIENT, SLOW
from tests.extenders.servers import Answer, Code, Server, everything, unused_port
from tests.extenders.test_tls import Party

Extender = dict[str, Any]
EXPIRED = datetime(2020, 1, 1, tzinfo=UTC)

STATE = """
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 1, pods: 9}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: high, namespace: default}, spec: {priority: 9,
 containers: [{name: c, resources: {requests: {cpu: REQUEST}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low, namespace: default}, spec: {nodeName: a,
 containers: [{name: c, resources: {requests: {cpu: 800m}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low2, namespace: default}, spec: {nodeName: b,
 containers: [{name: c, resources: {requests: {cpu: 800m}}}]}}
"""
# What `high` requests, where it fits and where it preempts, by verb.
REQUESTS = {
    "filterVerb": "100m",
    "prioritizeVerb": "100m",
    "preemptVerb": "900m",
    "bindVerb": "100m",
}
SHORT = "800ms"  # for what only the timeout ends
# Answers longer than ksched's limit; kube-scheduler reads on.
ENDLESS = ("a gigabyte", "an endless answer", "a gzip bomb")


def anything(data: Any) -> dict[str, Any]:
    """Lets every node pass, and binds."""
    return everything(data) if data and "NodeNames" in data else {}


ANSWERS: dict[str, Answer] = {
    "an error in the answer": {"Error": "no more licences"},
    "a node that was not sent": {"NodeNames": ["z"]},
    "a node twice": {"NodeNames": ["b", "b"]},
    "scores out of range": [{"Host": "a", "Score": -5}, {"Host": "b", "Score": 2**40}],
    "scores of unknown nodes": [{"Host": "z", "Score": 5}, {"Host": "b", "Score": 1}],
    "scores doubled": [{"Host": "a", "Score": 5}, {"Host": "a", "Score": 6}],
    "a score of 1.0": [{"Host": "a", "Score": 1.0}],
    "a score as text": [{"Host": "a", "Score": "5"}],
    "victims of a node that was not sent": {"NodeNameToMetaVictims": {"z": {"Pods": []}}},
    "victims that are not there": {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}}},
    "no victims": {"NodeNameToMetaVictims": {"a": {"Pods": []}}},
    "a victim twice": {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "default/low"}] * 2}}},
    "more victims": {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "default/low2"}]}}},
}


def failing_extenders(folder: Path) -> Iterator[tuple[str, Extender, list[Server]]]:
    """Name, the extender's fields, and the servers to close."""
    failures = {name: answer for name, (answer, _) in FAILURES.items() if name not in ENDLESS}
    for name, answer in {**failures, **ANSWERS}.items():
        server = Server({"/verb": answer})
        timeout = SHORT if name in SLOW else PATIENT
        yield name, {"urlPrefix": server.url, "httpTimeout": timeout}, [server]
    yield "nobody listens", {"urlPrefix": f"http://127.0.0.1:{unused_port()}"}, []
    yield "no address", {"urlPrefix": "http://extender.invalid"}, []
    yield "a password and nobody", {"urlPrefix": f"http://u:p@127.0.0.1:{unused_port()}"}, []
    for status in (301, 302, 303, 307, 308):
        target = Server({"/there": anything})
        server = Server({"/verb": Code(status, headers={"Location": f"{target.url}/there"})})
        yield f"a redirect {status}", {"urlPrefix": server.url}, [server, target]
    for name, server, fields in tls_failures(folder):
        yield name, {"urlPrefix": server.url, **fields}, [server]


def tls_failures(folder: Path) -> Iterator[tuple[str, Server, Extender]]:
    party, expired, named = (Party(make_folder(folder, name)) for name in ("a", "b", "c"))
    expired.server = expired.authority.issue_cert("127.0.0.1", not_after=EXPIRED)
    named.server = named.authority.issue_cert("extender.example.com")
    asking = party.context(asks_for_certificate=True)
    asking.maximum_version = ssl.TLSVersion.TLSv1_2  # 1.3 refuses after the handshake: a race
    for name, trusted, context in (
        ("another authority", expired, party.context()),
        ("an expired certificate", expired, expired.context()),
        ("a certificate for another name", named, named.context()),
        ("no certificate of the client", party, asking),
        ("a certificate that is right", party, party.context()),
    ):
        tls = {"tlsConfig": {"caFile": trusted.files["caFile"]}}
        yield name, Server({"/verb": anything}, context), tls
    plain = Server({"/verb": anything})
    plain.url = plain.url.replace("http:", "https:")
    yield "no TLS where it is expected", plain, {"tlsConfig": {"insecure": True}}
    secure = Server({"/verb": anything}, party.context())
    secure.url = secure.url.replace("https:", "http:")
    yield "TLS where it is not expected", secure, {}


def make_folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


MANAGED = [{"name": "example.com/foo", "ignoredByScheduler": True}]
REFUSES: Answer = {"Error": "not today"}
BINDS: Answer = {}
# What `high` requests, and the binder's answer and fields; `low` and `low2` are bound already.
BINDERS: dict[str, tuple[str, Answer, Extender]] = {
    "a binder": ("100m", BINDS, {}),
    "a binder for a pod that does not fit": ("2", BINDS, {}),
    "a binder after preemption": ("900m", BINDS, {}),
    "a binder that refuses after preemption": ("900m", REFUSES, {}),
    "a binder of other pods": ("100m", REFUSES, {"managedResources": MANAGED}),
    "a binder of this pod": ("100m, example.com/foo: 1", BINDS, {"managedResources": MANAGED}),
    "a binder of this pod that refuses": (
        "100m, example.com/foo: 1",
        REFUSES,
        {"managedResources": MANAGED},
    ),
    "a binder that filters, too": ("100m", anything, {"filterVerb": "verb"}),
    "a null for an answer": ("100m", None, {}),
    "an error that is no text": ("100m", {"Error": 5}, {}),
    "an error in another case": ("100m", {"error": "lower"}, {}),
    "an answer with more": ("100m", {"Error": "", "Also": [1]}, {}),
    "an answer and more text": ("100m", b"{} more", {}),
}


def configuration(extender: Extender, verb: str) -> str:
    fields = {"nodeCacheCapable": True, "weight": 1, **extender, verb: "verb"}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return json.dumps({**kind, "extenders": [fields]})


# The client's port, the name server, and times; and of which certificate what is said.
INCIDENTAL = re.compile(
    r"127\.0\.0\.1:\d+->| on [\d.]+:53|: current time \S+ is after \S+?Z"
    r"|certificate is valid for other names, not 127.0.0.1"
    r"|cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
)


def without_incidentals(decision: dict[str, Any]) -> dict[str, Any]:
    """A decision as both can make it: kube-scheduler shows passwords, which ksched masks."""
    plain: dict[str, Any] = json.loads(masked(INCIDENTAL.sub("", json.dumps(decision))))
    return plain


def binding_extenders() -> Iterator[tuple[str, str, Extender, Server]]:
    """Name, what `high` requests, the extender's fields, and its server."""
    for name, (request, answer, fields) in BINDERS.items():
        server = Server({"/verb": answer})
        yield name, request, {"urlPrefix": server.url, **fields}, server


def calls_of(servers: list[Server]) -> list[tuple[str, Any]]:
    """The calls that were received, which are forgotten: the path, and what a binding says."""
    calls = [call for server in servers for call in server.calls]
    for server in servers:
        server.calls.clear()
    return [(call.path, call.data if "PodUID" in (call.data or ()) else None) for call in calls]


@dataclass(frozen=True)
class Comparison:
    """difference: the first one, or ""; upstream, mine: the error of each one's first attempt."""

    difference: str
    upstream: str = ""
    mine: str = ""


def compared(
    oracle: Oracle, request: str, extender: Extender, verb: str, servers: list[Server], minor: str
) -> Comparison:
    state = STATE.replace("REQUEST", request)
    config = configuration(extender, verb)
    answer = oracle.run(state, config)
    if "error" in answer:
        return Comparison(answer["error"])
    calls = calls_of(servers)
    upstream = without_incidentals(answer["result"])
    mine = without_incidentals(subject.decide(state, config, minor))
    difference = differs(upstream, mine, False) or ""
    if not difference and calls != (my_calls := calls_of(servers)):
        difference = f"calls {calls} or {my_calls}"
    errors = [decision["attempts"][0].get("error") or "" for decision in (upstream, mine)]
    if not difference and errors[0] != errors[1]:
        difference = "another error"
    return Comparison(difference, *errors)


def comparisons(oracle: Oracle, minor: str, folder: Path) -> Iterator[tuple[str, Comparison]]:
    for name, extender, servers in failing_extenders(folder):
        for verb, request in REQUESTS.items():
            yield f"{name}, {verb}", compared(oracle, request, extender, verb, servers, minor)
        ignorable = {**extender, "ignorable": True}
        comparison = compared(oracle, "100m", ignorable, "bindVerb", servers, minor)
        yield f"{name}, bindVerb, ignorable", comparison
        for server in servers:
            server.close()
    for name, request, extender, server in binding_extenders():
        yield name, compared(oracle, request, extender, "bindVerb", [server], minor)
        server.close()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubernetes-version", choices=list(MODULES), default=OLDEST)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    minor, count, wrong = options.kubernetes_version, 0, 0
    with Oracle(minor) as oracle, tempfile.TemporaryDirectory() as folder:
        for name, comparison in comparisons(oracle, minor, Path(folder)):
            count += 1
            wrong += bool(comparison.difference)
            if comparison.difference or options.verbose:
                print(f"{name}: {comparison.difference or 'the same'}", flush=True)
            if options.verbose and comparison.upstream != comparison.mine:
                print(f"    kube-scheduler: {comparison.upstream}")
                print(f"    ksched:         {comparison.mine}")
    print(f"{count - wrong} of {count} are the same")
    return int(bool(wrong))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnavailableError as why:
        print(f"no oracle: {why}", file=sys.stderr)
        sys.exit(2)
