"""The Runs of the workbench: they differ from the command line's by edits, and their answers are
pages. All of it is for one thread.

The state is read once, and its changed states, configurations and pages are kept in bounded memory.
The objects of a state are a tree: nodes, namespaces with workloads and their pods, other kinds; an
object has a manifest, and an edited one comes to a change.
"""

from __future__ import annotations

import os
import shlex
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from ksched_cli.analysis.compare import Compare
from ksched_cli.analysis.explain import Explain
from ksched_cli.analysis.fix import Fix
from ksched_cli.analysis.question import Observer, OnProgress, Question, ask
from ksched_cli.analysis.schedule import RunSummary, Schedule, ScheduleResult
from ksched_cli.answers import Answer, AppliedChange, document_of, plain
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration
from ksched_cli.config.sources import ConfigurationText
from ksched_cli.config.types import DEFAULT_SCHEDULER_NAME
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.errors import UsageError, shortened_lines
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import load_documents
from ksched_cli.kube.shown_json import shown_json
from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.kube.stored_bytes import read_or_store
from ksched_cli.kube.versions import MINORS
from ksched_cli.report.html.page import page_of, render_page
from ksched_cli.report.words import printable
from ksched_cli.run.differences import digest_of
from ksched_cli.run.inputs import digest
from ksched_cli.run.open import Opener
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.scenario.objects import Manifest, objects_of, plain_object
from ksched_cli.scenario.owned_pods import POD, WORKLOADS, owner_of
from ksched_cli.serve.configurations import reviewer_of
from ksched_cli.serve.tools import inline

MAX_CHANGES = 500
# Bytes of Runs, and of pages, that are stored. A page of 5,000 nodes has 3 MB.
RUN_BYTES = 32 << 20
PAGE_BYTES = 96 << 20
STANDING_BYTES = 300
TREES = 2
SIDES = ("before", "after")
# How many pods are named: of those that wait, and as expectations.
MAX_PENDING = 200
MAX_EXPECTED = 100
FIX_SECONDS = 20.0
# How many states of dropped files are stored.
STATES = 2
LONGEST_NAME = 100

A = TypeVar("A", bound=Answer)


class UnknownRunError(UsageError):
    """A digest of no Run that is stored."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this server has no run {name}: it was started again since, or the run was forgotten"
        )


class AbandonedError(Exception):
    """Nobody waits for the answer any more."""


class Waiting(Observer):
    """Ends a question that nobody waits for any more."""

    def __init__(self, is_abandoned: Callable[[], bool]) -> None:
        self._is_abandoned = is_abandoned

    def check(self) -> None:
        """Check that somebody still waits. Raises AbandonedError."""
        if self._is_abandoned():
            raise AbandonedError

    @contextmanager
    def progress(self, noun: str) -> Iterator[OnProgress]:
        yield lambda done, total: self.check()

    def after_instant(self, replay: Replay) -> None:
        self.check()


class Edits(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """The edits that make a Run differ from that of the command line.

    state:         the digest of a state that was dropped on the page, which takes the place of the
                   command line's state and changes; "" keeps those
    changes:       lines in kubectl's words, or objects to apply; after those of the command line
    configuration: a text in place of the command line's; "" keeps that
    kubernetes_version: a minor; "" keeps that of the command line
    """

    state: str = ""
    changes: tuple[str | dict[str, Any], ...] = ()
    configuration: str = ""
    kubernetes_version: str = ""


class EditedObject(Struct, frozen=True, forbid_unknown_fields=True):
    """text: the object's YAML as it was edited; without a kind and a name, of a new object"""

    text: str
    kind: str = ""
    name: str = ""
    namespace: str = ""


class NewWeight(Struct, frozen=True, forbid_unknown_fields=True):
    """profile: its index."""

    profile: int
    plugin: str
    weight: int


class Draft(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A configuration to look at before it is applied."""

    configuration: str
    kubernetes_version: str = ""


class ProfileWeights(Struct, frozen=True):
    """The weights of a profile's score plugins. profile: its scheduler's name"""

    profile: str
    weights: dict[str, int]


class RunView(Struct, frozen=True, rename="camel"):
    """The workbench's view of a Run, beside its page.

    source: what the state was read from
    applied: what changes did, those of the command line first
    configuration: its text; pending: the first pods that wait
    """

    digest: str
    edits: Edits
    source: str
    title: str
    summary: RunSummary
    kubernetes_version: str
    release: str
    configuration: str
    weights: tuple[ProfileWeights, ...]
    applied: tuple[AppliedChange, ...]
    given: int
    pending: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """view: as JSON; standings: of pods, see ObjectTree"""

    run: Run
    view: Raw
    standings: Mapping[str, str]

    def __len__(self) -> int:
        return memoryview(self.view).nbytes + STANDING_BYTES * len(self.standings)


S = TypeVar("S", bound=Sized)


@dataclass(slots=True)
class RecentItems(Generic[S]):
    """The items used last, of bounded size together."""

    most: int
    items: OrderedDict[object, S] = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: object) -> S | None:
        if key in self.items:
            self.items.move_to_end(key)
        return self.items.get(key)

    def put(self, key: object, item: S) -> None:
        if key in self.items:
            self.size -= len(self.items.pop(key))
        self.items[key] = item
        self.size += len(item)
        while self.size > self.most and len(self.items) > 1:
            self.size -= len(self.items.popitem(last=False)[1])

    def drop(self, key: object) -> None:
        self.size -= len(self.items.pop(key))


@dataclass(slots=True)
class Workbench:
    """base: the Run of the command line, which calls no extenders. opener: of it alone.
    is_abandoned: whether nobody waits for the current answer any more"""

    base: Run
    opener: Opener
    is_abandoned: Callable[[], bool] = lambda: False
    _runs: RecentItems[StoredRun] = field(default_factory=lambda: RecentItems(RUN_BYTES))
    _pages: RecentItems[str] = field(default_factory=lambda: RecentItems(PAGE_BYTES))
    _trees: OrderedDict[str, ObjectTree] = field(default_factory=OrderedDict)
    _lasting: dict[str, None] = field(default_factory=dict)
    _states: OrderedDict[str, tuple[str, ...]] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        """Load the plugins that all answers share. Raises KschedError."""
        self.opener.warn = self._note_lasting
        self.opener.plugins(self.base)

    def _note_lasting(self, *lines: str) -> None:
        """Store warnings that every answer has: of plugins, which are loaded once."""
        self._lasting |= dict.fromkeys(map(shortened_lines, lines))

    # -- Runs -------------------------------------------------------------------------------------

    def open(self, edits: Edits) -> Raw:
        """Return the view of the Run with these edits, as JSON; its page is made, too. Raises
        KschedError."""
        run, edits = self._run(edits)
        name = digest_of(run, self.opener.inputs)
        stored = self._runs.get(name)
        if stored is None:
            answer = self._schedule(run)
            self._pages.put((name, "schedule", "", "html"), render_page(answer))
            configuration = self.opener.configuration(run)
            records = self.opener.state(run).changes
            view = RunView(
                name,
                edits,
                _file_of(run) if edits.state else ", ".join(run.states) or "the live cluster",
                page_of(answer).title,
                answer.summary,
                answer.kubernetes_version,
                configuration.release.number,
                self.configuration(run),
                weights_of(configuration),
                tuple(record.applied for record in records),
                len(records) - len(edits.changes),
                answer.pending[:MAX_PENDING],
                answer.warnings,
            )
            # The standings are of the pods that the run places, gates or evicts.
            standings = {
                **{pod: f"gets {node}" for pod, node in answer.placements.items()},
                **dict.fromkeys(answer.gated, "gated"),
                **dict.fromkeys(answer.evicted, "evicted"),
            }
            stored = StoredRun(run, Raw(msgspec.json.encode(view)), standings)
            self._runs.put(name, stored)
            self.opener.inputs.keep_only([each.run for each in self._runs.items.values()])
        return stored.view

    def view(self, name: str) -> Raw:
        """Return the view of a Run which is stored. Raises UnknownRunError."""
        return self._stored(name).view

    def _stored(self, name: str) -> StoredRun:
        stored = self._runs.get(name)
        if stored is None:
            raise UnknownRunError(name)
        return stored

    def _run(self, edits: Edits) -> tuple[Run, Edits]:
        if len(edits.changes) > MAX_CHANGES:
            raise UsageError(f"{len(edits.changes)} changes: at most {MAX_CHANGES} can be made")
        minor = edits.kubernetes_version
        if minor and minor not in MINORS:
            raise UsageError(f"Kubernetes {minor}: expected one of {', '.join(MINORS)}")
        base = self.base
        if edits.state:
            if edits.state not in self._states:
                raise UsageError("this server has forgotten the dropped state; drop its file again")
            base = self._of_state(self._states[edits.state])
        changes = [
            ChangeSource(line=inline(each)) if isinstance(each, str) else _applied(each)
            for each in edits.changes
        ]
        if edits.configuration.strip() == self.configuration(self.base).strip():
            edits = structs.replace(edits, configuration="")
        text = edits.configuration
        name = f"configuration {digest(text.encode())[:6]}" if text else self.base.configuration
        if text:
            self.opener.inputs.give_configuration(name, text.encode())
        run = structs.replace(
            base,
            changes=(*base.changes, *changes),
            configuration=name,
            patches=() if text else self.base.patches,
            kubernetes_version=minor or self.base.kubernetes_version,
        )
        return run, edits

    # -- states -----------------------------------------------------------------------------------

    def load(self, content: bytes, query: Mapping[str, str]) -> Mapping[str, str]:
        """Take a state from a file that was dropped on the page, and return its digest, which Edits
        name. query: its name. Raises KschedError, and then nothing has changed."""
        name, named = digest(content), printable(os.path.basename(query.get("name", "")))
        file = named[-LONGEST_NAME:] or "the dropped file"
        if name not in self._states:
            paths = (f"{file} ({name[:6]})",)
            try:
                source = Source(file, read_or_store(BytesIO(content), file))
                self.opener.inputs.give(paths, source)
                self.opener.state(self._of_state(paths))
            except BaseException:
                self.opener.forget(paths)
                raise
            self._states[name] = paths
        self._states.move_to_end(name)
        while len(self._states) > STATES:
            # The oldest state is removed, with its Runs and their pages.
            _, forgotten = self._states.popitem(last=False)
            self.opener.forget(forgotten)
            for run, stored in [*self._runs.items.items()]:
                if stored.run.states == forgotten:
                    self._runs.drop(run)
                    self._trees.pop(str(run), None)
        return {"state": name}

    def _of_state(self, paths: tuple[str, ...]) -> Run:
        """The Run of the command line with another state, and without the changes to its own."""
        return structs.replace(self.base, states=paths, live=None, changes=())

    # -- configurations ---------------------------------------------------------------------------

    def configuration(self, run: Run) -> str:
        """Return the text of a Run's configuration, with its patches and the plugins that join
        it."""
        if run.configuration and not run.patches:
            return self.opener.inputs.configuration(run.configuration).text
        return block_yaml(self.opener.configuration_data(run))

    def weighted(self, name: str, new: NewWeight) -> Mapping[str, str]:
        """Return the text of the Run's configuration with another weight; the rest of it stays.
        Raises KschedError."""
        plugin, weight = new.plugin, new.weight
        run = self._stored(name).run
        document = EditableDocument(self.configuration(run))
        points = ("profiles", new.profile, "plugins")
        for point in ("score", "multiPoint"):
            path = (*points, point, "enabled")
            listed = document.get(path) or []
            names = [entry.get("name") for entry in listed]
            if plugin in names:
                document.put((*path, names.index(plugin), "weight"), weight)
                return {"configuration": document.text}
        path = (*points, "score", "enabled")
        entry = {"name": plugin, "weight": weight}
        document.put((*path, len(document.get(path) or [])), entry)
        return {"configuration": document.text}

    def findings(self, draft: Draft) -> Mapping[str, Any]:
        """Return what `ksched validate` reports. Raises KschedError."""
        base = self.base
        version = (
            draft.kubernetes_version or base.kubernetes_version or self.opener.release(base).number
        )
        reviewer = reviewer_of(self.opener, structs.replace(base, kubernetes_version=version))
        text = ConfigurationText("configuration", draft.configuration.encode())
        return {"findings": plain([*reviewer.review(text).review.findings])}

    # -- objects ----------------------------------------------------------------------------------

    def tree(self, name: str) -> ObjectTree:
        """Return the objects of the Run's state after its changes. Raises UnknownRunError."""
        stored = self._stored(name)
        if name not in self._trees:
            self._trees[name] = ObjectTree(self.opener.state(stored.run), stored.standings)
            if len(self._trees) > TREES:
                self._trees.popitem(last=False)
        return self._trees[name]

    def listing(self, name: str, query: Mapping[str, str]) -> Listing:
        """query: path or search. Raises KschedError."""
        return self.tree(name).listing(query.get("path", ""), query.get("search", ""))

    def manifest(self, name: str, query: Mapping[str, str]) -> Mapping[str, str]:
        """Return the manifest as YAML. query: kind, namespace and name. Raises KschedError."""
        key = [query.get(part, "") for part in ("kind", "namespace", "name")]
        return {"text": block_yaml(self.tree(name).manifest(*key))}

    def edited(self, name: str, edited: EditedObject) -> Mapping[str, Any]:
        """Return the change for the edited YAML of an object. Raises KschedError."""
        if not edited.kind:
            return {"change": {"apply": _object_of(edited.text, "the new object")}}
        before = self.tree(name).manifest(edited.kind, edited.namespace, edited.name)
        return {"change": change_of(before, edited.text)}

    # -- answers ----------------------------------------------------------------------------------

    def answer(self, name: str, question: str, about: str, form: str) -> str:
        """Return an answer as a page or as JSON. about: a pod, or the digest of the Run to compare
        with. Raises KschedError."""
        run = self._stored(name).run
        key = (name, question, about, form)
        page = self._pages.get(key)
        if page is not None:
            return page
        answer: Answer
        match question:
            case "schedule":
                answer = self._schedule(run)
            case "explain":
                pod, _, node = about.partition(" on ")
                answer = self._answer_to(Explain(pod=f"/{pod}", nodes=(node,) * bool(node)), run)
            case "fix":
                answer = self._answer_to(Fix(pod=f"/{about}", max_seconds=FIX_SECONDS), run)
            case "compare":
                # Their changes, which would name the sides, are many and begin alike.
                other = self._stored(about).run
                answer = self._answer_to(Compare(names=SIDES, at_end=True), other, run)
            case _:
                raise UsageError(f"there is no question {question}")
        page = render_page(answer) if form == "html" else shown_json(document_of(answer)) + "\n"
        self._pages.put(key, page)
        return page

    def _schedule(self, run: Run) -> ScheduleResult:
        return self._answer_to(Schedule(is_mapped=True), run)

    def _answer_to(self, question: Question[A], *runs: Run) -> A:
        observer = Waiting(self.is_abandoned)
        observer.check()
        return ask(question, *runs, observer=observer, opener=self.opener, warnings=self._lasting)

    # -- exports ----------------------------------------------------------------------------------

    def scenario(self, name: str) -> str:
        """The changes of a Run as a file. Raises UnknownRunError."""
        changes = _entries(self._stored(name).run)
        return block_yaml({"apiVersion": "ksched/v1", "kind": "Scenario", "changes": changes})

    def expectations(self, name: str) -> str:
        """Return a file of expectations that the Run meets: how many pods wait, and where the first
        are. Its configuration, and the file of a state that was dropped, are expected beside it.
        Raises KschedError."""
        stored = self._stored(name)
        run, answer = stored.run, self._schedule(stored.run)
        is_dropped = run.states in self._states.values()
        expect: list[dict[str, Any]] = [{"pending": len(answer.pending)}]
        expect += [{"pod": pod, "on": node} for pod, node in answer.placements.items()]
        expect += [{"pod": pod, "pending": True} for pod in answer.pending]
        scenarios = [each.scenario for each in run.changes if each.scenario]
        if scenarios or run.live or run.timeline:
            raise UsageError(
                "an expectations file of --scenario, --live or --timeline cannot be written here"
            )
        fields = {
            "state": [_file_of(run)] if is_dropped else [*map(os.path.abspath, run.states)],
            "config": "configuration.yaml" if run.configuration or run.patches else "",
            "changes": _entries(run),
            "kubernetesVersion": run.kubernetes_version,
            "plugins": [*run.plugins],
            "featureGates": run.feature_gates,
            "minCompatibilityVersion": run.min_compatibility_version,
            "expect": expect[:MAX_EXPECTED],
        }
        document = {"apiVersion": "ksched/v1", "kind": "Expectations"}
        return block_yaml(document | {key: value for key, value in fields.items() if value})

    def export(self, name: str, file: str) -> str:
        """Return the content of a file to save. Raises KschedError."""
        match file:
            case "scenario.yaml":
                return self.scenario(name)
            case "configuration.yaml":
                return self.configuration(self._stored(name).run)
            case "expectations.yaml":
                return self.expectations(name)
        raise UsageError(f"there is no {file} to save")


def _file_of(run: Run) -> str:
    """Return the name of the file that the Run's state was dropped as."""
    return run.states[0].rpartition(" (")[0]


def weights_of(configuration: Configuration) -> tuple[ProfileWeights, ...]:
    return tuple(
        ProfileWeights(profile.scheduler_name or DEFAULT_SCHEDULER_NAME, dict(profile.weights))
        for profile in configuration.profiles
    )


def _applied(entry: dict[str, Any]) -> ChangeSource:
    if set(entry) != {"apply"} or not isinstance(entry["apply"], dict | list):
        raise UsageError('a change is a line, or {"apply": object}')
    return ChangeSource(apply=entry["apply"])


def _entries(run: Run) -> Sequence[str | dict[str, Any]]:
    """A Run's changes, as a scenario file has them; those of the files that it names apart."""
    return [each.line or {"apply": each.apply} for each in run.changes if each.line or each.apply]


# -- the objects of a state as a tree --------------------------------------------------------------


# How many objects of a folder, or of a search, are listed.
MAX_LISTED = 200
NODES, NAMESPACE = "nodes", "namespace/"
PENDING = "pending"
# What a person does not edit, and kubectl does not show either.
_HIDDEN = "managedFields"


class TreeItem(Struct, frozen=True, omit_defaults=True):
    """An object, or a folder of objects.

    path: of the folder; "" for an object
    kind: of the object, or of the workload whose folder it is
    size: how many objects the folder has, or how many pods the workload
    note: what there is to say of the object in a word
    """

    name: str
    path: str = ""
    kind: str = ""
    namespace: str = ""
    size: int = 0
    note: str = ""


class Listing(Struct, frozen=True):
    """The contents of a folder, or the results of a search. more: how many objects are not
    listed"""

    items: tuple[TreeItem, ...]
    more: int


@dataclass(frozen=True)
class ObjectTree:
    """Folders of a state, made when the first is asked for. standings: what becomes of its pods, by
    their keys, where that is not what the state says"""

    state: ClusterState
    standings: Mapping[str, str]

    @cached_property
    def folders(self) -> Mapping[str, list[TreeItem]]:
        """The folders by path; "" is the root."""
        nodes = [
            TreeItem(node.name, "", "Node", note="cordoned" if node.spec.unschedulable else "")
            for node in self.state.nodes
        ]
        folders: dict[str, list[TreeItem]] = {NODES: nodes}
        # Pods are in the folder of their workload, and that of the namespace has the workloads.
        owned: dict[tuple[str, str], list[TreeItem]] = {}
        for pod in self.state.pods:
            note = "finished" if pod.finished else pod.node_name or PENDING
            note = printable(self.standings.get(pod.key, note))
            item = TreeItem(pod.name, "", POD, pod.namespace, note=note)
            owned.setdefault((pod.namespace, owner_of(pod)), []).append(item)
        for kind in WORKLOADS:
            for namespace, name in objects_of(self.state, KINDS[kind]):
                item = TreeItem(name, "", kind, namespace)
                owned.setdefault((namespace, f"{kind}/{name}"), []).insert(0, item)
        for (namespace, owner), pods in sorted(owned.items()):
            kind, _, name = owner.partition("/")
            path = f"{NAMESPACE}{namespace}"
            if kind == POD:
                folders.setdefault(path, []).extend(pods)
                continue
            size = sum(item.kind == POD for item in pods)
            item = TreeItem(name, f"{path}/{owner}", kind, namespace, size)
            folders.setdefault(path, []).append(item)
            folders[item.path] = pods
        for other in KINDS.values():
            if other.name in (POD, "Node", "Namespace", *WORKLOADS):
                continue
            for namespace, name in objects_of(self.state, other):
                path = f"{NAMESPACE}{namespace}" if namespace else other.name
                item = TreeItem(name, "", other.name, namespace)
                folders.setdefault(path, []).append(item)
        roots = {
            path: sum(item.size if item.path else 1 for item in items)
            for path, items in folders.items()
            if path.count("/") < 2
        }
        folders[""] = [
            TreeItem(path.removeprefix(NAMESPACE), path, size=size)
            for path, size in sorted(
                roots.items(),
                key=lambda root: (root[0] != NODES, not root[0].startswith(NAMESPACE), root[0]),
            )
        ]
        return folders

    def listing(self, path: str, search: str) -> Listing:
        """Return the contents of a folder; with `search`, the objects of any folder whose names
        have the words. Raises UsageError where there is no such folder."""
        if search:
            parts = search.lower().split()
            items = [
                item
                for folder, listed in self.folders.items()
                for item in listed
                if folder
                and (item.path or item.kind not in WORKLOADS)
                and all(
                    part in f"{item.kind}/{item.namespace}/{item.name} {item.note}".lower()
                    for part in parts
                )
            ]
        elif path not in self.folders:
            raise UsageError(f"there is no {path} in the state")
        else:
            items = self.folders[path]
        return Listing(tuple(items[:MAX_LISTED]), max(0, len(items) - MAX_LISTED))

    def manifest(self, kind: str, namespace: str, name: str) -> Manifest:
        """Return the manifest of an object. Raises UsageError where it is not in the state."""
        type_ = KINDS.get(kind)
        obj = objects_of(self.state, type_).get((namespace, name)) if type_ else None
        if type_ is None or obj is None:
            raise UsageError(f"there is no {kind} {name} in the state")
        data = msgspec.json.decode(msgspec.json.encode(plain_object(type_, obj)))
        data["metadata"].pop(_HIDDEN, None)
        if namespace:
            data["metadata"].setdefault("namespace", namespace)
        if not (data.get("spec") or {}).get("nodeName", True):
            del data["spec"]["nodeName"]
        return {"apiVersion": data.pop("apiVersion"), "kind": data.pop("kind"), **data}


def change_of(before: Manifest, text: str) -> str | dict[str, Any]:
    """Return the change that an edited manifest comes to: a patch where it names the same object,
    else an object to apply. Raises InputError, UsageError."""
    after = _object_of(text, "the edited object")
    kind, namespace, name = _identity(before)
    if _identity(after) not in ((kind, namespace, name), (kind, "", name)):
        return {"apply": after}
    patch = merge_patch(before, after)
    if not patch:
        raise UsageError("the object is as it was: nothing is edited")
    where = f" -n {shlex.quote(namespace)}" if namespace else ""
    quoted = shlex.quote(msgspec.json.encode(patch).decode())
    return f"patch {shlex.quote(f'{kind.lower()}/{name}')}{where} --type=merge -p {quoted}"


def _object_of(text: str, name: str) -> dict[str, Any]:
    """Return the one object of a text. Raises InputError, UsageError."""
    documents = [each for each in load_documents(text, name) if each is not None]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise UsageError("expected one object, as YAML or JSON")
    (only,) = documents
    return only


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch (RFC 7386) from one object to another."""
    patch: dict[str, Any] = {key: None for key in before if after.get(key) is None}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := merge_patch(old, value):
                patch[key] = nested
        elif value != old:
            patch[key] = value
    return patch


def _identity(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise UsageError("the object has no metadata.name")
    return str(manifest.get("kind")), str(metadata.get("namespace") or ""), metadata["name"]
