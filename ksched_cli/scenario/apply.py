"""apply -f FILE, patch KIND/NAME -p JSON: objects made or changed, checked as a state's are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind, find_kind
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.objects import CronJob, KubeObject
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.kube.documents import decode_text, load_documents, read_file
from ksched_cli.kube.gates import COMPOSITE_POD_GROUP, POD_GROUP
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.arguments import (
    Arguments,
    Target,
    current_pods,
    find_object,
    find_workload,
    read_selector,
    read_target,
)
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.nodes import evict_untolerating, remove_stray_daemons
from ksched_cli.scenario.objects import (
    Manifest,
    check_documents,
    custom_key,
    custom_objects_of,
    json_merge,
    objects_of,
    plain_object,
    replaced,
)
from ksched_cli.scenario.owned_pods import WORKLOADS
from ksched_cli.scenario.pods import is_of_daemon_set, is_owned_by, newest_timestamp
from ksched_cli.scenario.scale import SCALABLE, resize, restarted
from ksched_cli.scenario.workloads import cron_job_run, on_node, target_node

# -- patches --------------------------------------------------------------------------------------
# Merges patches into objects: strategic, merge and JSON patches.
#
# Upstream: apimachinery/pkg/util/strategicpatch; RFC 7386; RFC 6902.


# Lists whose items are merged by a key, by the name of the list. Upstream: patchMergeKey in
# k8s.io/api/core/v1/types.go. All other lists are replaced.
_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "conditions": "type",
    "ownerReferences": "uid",
}
_DIRECTIVE = "$patch"


class JsonPatchError(ValueError):
    """A JSON patch that cannot be carried out."""


def strategic_merge(value: Any, patch: Any, name: str = "") -> Any:
    """Return the value after a strategic merge patch.

    name: of the field that holds the value
    """
    if isinstance(patch, dict) and isinstance(value, dict):
        return _merged_object(value, patch)
    if isinstance(patch, list) and isinstance(value, list) and name in _MERGE_KEYS:
        return _merged_list(value, patch, _MERGE_KEYS[name])
    return patch


def _merged_object(value: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: item for key, item in patch.items() if key != _DIRECTIVE}
    merged = dict(value)
    for key, item in patch.items():
        if key.startswith("$"):
            continue
        if item is None:
            merged.pop(key, None)
        else:
            new = strategic_merge(merged[key], item, key) if key in merged else _added(item)
            if new is not None:
                merged[key] = new
    return merged


def _added(patch: Any) -> Any:
    """Return a field of a patch as it is added to an object that lacks it: without nulls, and
    without objects that have a directive; None for such an object itself. Upstream:
    removeDirectives and discardNullValuesFromPatch."""
    if isinstance(patch, dict):
        if _DIRECTIVE in patch:
            return None
        items = {key: _added(item) for key, item in patch.items()}
        return {key: item for key, item in items.items() if item is not None}
    if isinstance(patch, list):
        added = [(item, _added(item)) for item in patch]
        return [new for item, new in added if item is None or new is not None]
    return patch


def _merged_list(value: list[Any], patch: list[Any], key: str) -> list[Any]:
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if item.get(_DIRECTIVE) != "replace"]
    merged = list(value)
    places: dict[str | int | None, list[int]] = {}
    for place, item in enumerate(value):
        places.setdefault(_identity(item, key), []).append(place)
    places.pop(None, None)
    gone: set[int] = set()
    for item in patch:
        identity = _identity(item, key)
        if isinstance(item, dict) and item.get(_DIRECTIVE) == "delete":
            gone.update(places.pop(identity, ()))
        elif identity in places:
            place = places[identity][0]
            merged[place] = _merged_object(merged[place], item)
        else:
            if identity is not None:
                places[identity] = [len(merged)]
            merged.append(item)
    return [item for place, item in enumerate(merged) if place not in gone]


def removals(last: Any, applied: Any, name: str = "") -> Any:
    """Return the strategic patch that removes what was applied last and is not applied now; {} or
    [] for nothing. Upstream: CreateThreeWayMergePatch.

    name: of the field that holds both
    """
    if isinstance(last, dict) and isinstance(applied, dict):
        patch = {key: None for key in last if key not in applied}
        nested = {key: removals(last[key], applied[key], key) for key in last if key in applied}
        return patch | {key: item for key, item in nested.items() if item}
    if not (isinstance(last, list) and isinstance(applied, list) and name in _MERGE_KEYS):
        return {}
    merge_key = _MERGE_KEYS[name]
    current = {_identity(item, merge_key): item for item in applied}
    items = []
    for item in last:
        identity = _identity(item, merge_key)
        if identity is None:
            continue
        if identity not in current:
            items.append({merge_key: identity, _DIRECTIVE: "delete"})
        elif patch := removals(item, current[identity]):
            items.append({merge_key: identity, **patch})
    return items


def _identity(item: Any, merge_key: str) -> str | int | None:
    """Return the identity of an item; None if that is not a text or number."""
    identity = item.get(merge_key) if isinstance(item, dict) else None
    return identity if isinstance(identity, str | int) else None


def json_patch(value: Any, operations: Any) -> Any:
    """Apply the operations of RFC 6902 in place (add, remove, replace, move, copy and test), and
    return the value. Raises PatchError."""
    for operation in operations if isinstance(operations, list) else [operations]:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise JsonPatchError("expected a list of {op, path, value}")
        name, path = operation.get("op"), operation["path"]
        if name not in ("add", "remove", "replace", "move", "copy", "test") or "/" not in path:
            expected = "expected add, remove, replace, move, copy or test"
            raise JsonPatchError(f'"{name}" at "{path}": {expected}')
        item = operation.get("value")
        if name in ("move", "copy"):
            source = operation.get("from")
            if not isinstance(source, str) or "/" not in source:
                raise JsonPatchError(f'{name} to "{path}": expected from')
            item = deepcopy(_operate("get", value, source, None))
            if name == "move":
                _operate("remove", value, source, None)
            name = "add"
        _operate(name, value, path, item)
    return value


def _operate(name: str, value: Any, path: str, item: Any) -> Any:
    """Do one operation, and return the item that is there."""
    steps = [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")[1:]]
    try:
        for step in steps[:-1]:
            value = value[int(step) if isinstance(value, list) else step]
        last: Any = steps[-1]
        if isinstance(value, list):
            last = len(value) if last == "-" else int(last)
        if name == "add" and isinstance(value, list):
            value.insert(last, item)
        elif name == "add":
            value[last] = item
        elif name == "remove":
            del value[last]
        elif name == "replace":
            _ = value[last]  # it must be there
            value[last] = item
        elif name == "test" and value[last] != item:
            raise JsonPatchError(f'test at "{path}": the value differs')
        return item if name == "remove" else value[last]
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, JsonPatchError):
            raise
        what = "from" if name == "get" else f"{name} at"
        raise JsonPatchError(f'{what} "{path}": this path does not exist') from None


# -- apply and patch ------------------------------------------------------------------------------

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_QUOTE_IN_JSON = re.compile(r'[{\[,:]\s*"')
_PATCHES = {"strategic": strategic_merge, "merge": json_merge, "json": json_patch}


@dataclass(frozen=True, slots=True)
class Apply(Change):
    """source: of the manifests, for errors. namespace: of objects that name none."""

    source: str
    namespace: str
    manifests: tuple[Manifest, ...]

    @staticmethod
    def parse(arguments: Arguments) -> Apply:
        path = arguments.flags.get("--filename", "")
        if not path or arguments.names:
            raise arguments.error('expected "apply -f FILE"')
        if path.startswith("{"):
            raw, name = path.encode(), "-f"
        else:
            raw, name = read_file(path if path == "-" else str(arguments.folder / path))
        documents = load_documents(decode_text(raw, name), name)
        apply = Apply.of(arguments.text, name, arguments.namespace, documents)
        selector = read_selector(arguments.text, arguments.flags.get("--selector", ""))
        chosen = []
        for manifest in apply.manifests:
            labels = (manifest.get("metadata") or {}).get("labels")
            if selector.matches(labels if isinstance(labels, dict) else {}):
                chosen.append(manifest)
        warnings = check_documents(Source(name, raw))
        return replace(apply, manifests=tuple(chosen), warnings=warnings)

    @staticmethod
    def of(text: str, source: str, namespace: str, documents: Iterable[Any]) -> Apply:
        manifests = tuple(_flattened(documents, source))
        return Apply(text, source, namespace or "default", manifests)

    def apply(self, state: ClusterState) -> Changed:
        effects: list[Effect] = []
        manifests = map(deepcopy, self.manifests)
        for (version, name), group in groupby(
            manifests, lambda each: (str(each.get("apiVersion") or ""), str(each.get("kind") or ""))
        ):
            kind = find_kind(version, name)
            custom = kind_with_group(version, name)
            groups = (POD_GROUP, COMPOSITE_POD_GROUP)
            if kind is not None:
                state, more = self._apply_to(state, kind, group)
            elif custom in state.pod_makers or custom in state.others or custom in groups:
                # Objects that only plugins read are plain data; each replaces the one before it.
                more = []
                for manifest in group:
                    manifest["metadata"].setdefault("namespace", self.namespace)
                    key = custom_key(manifest)
                    before = custom_objects_of(state, custom).get(key)
                    state = replaced(state, custom, [manifest])
                    action = "unchanged" if before == manifest else "configured"
                    action = "created" if before is None else action
                    more.append(Effect(f"{name} {'/'.join(key)}", action))
            else:
                names = ((each.get("metadata") or {}).get("name", "") for each in group)
                reason = "the scheduler does not read this kind"
                more = [Effect(f"{name} {each}", "passed over", reason) for each in names]
            effects += more
        return state, effects

    def _apply_to(
        self, state: ClusterState, kind: ObjectKind, manifests: Iterable[Manifest]
    ) -> Changed:
        """Apply manifests of one kind. New objects that follow each other join the state together,
        because each joining copies the state."""
        effects: list[Effect] = []
        now = newest_timestamp(state.pods)
        present = objects_of(state, kind)
        new: dict[tuple[str, str], Manifest] = {}
        changed: list[tuple[str, str]] = []
        for manifest in manifests:
            key = self._key(kind, manifest, (*present, *new))
            label = f"{manifest['kind']} {'/'.join(part for part in key if part)}"
            manifest["metadata"].pop("creationTimestamp", None)  # the API server sets it
            if key not in present and key not in new:
                if kind.name in SCALABLE:
                    manifest["spec"] = {"replicas": 1, **(manifest.get("spec") or {})}
                manifest["metadata"] |= {"creationTimestamp": now} if now else {}
                new[key] = manifest
                changed.append(key)
                effects.append(Effect(label, "created"))
                continue
            if new:
                state, new = replaced(state, kind, new.values()), {}
                present = objects_of(state, kind)
            after, more = self._configure(state, kind, present[key], manifest)
            effects += more or [Effect(label, "unchanged")]
            if after is not state:
                state, present = after, objects_of(after, kind)
                changed.append(key)
        state = replaced(state, kind, new.values())
        if kind.name == "CronJob":
            for key in changed:
                state, more = _run(state, state.cron_jobs[key])
                effects += more
        return state, effects

    def _configure(
        self, state: ClusterState, kind: ObjectKind, obj: KubeObject, manifest: Manifest
    ) -> Changed:
        """Change the object as the manifest says. Return no effects if it does not change."""
        before = plain_object(kind, obj)
        # Without the fields that kubectl applied last, as the annotation has them, and that the
        # manifest no longer has.
        noted = (before.get("metadata") or {}).get("annotations") or {}
        try:
            last = msgspec.json.decode(noted.get(_LAST_APPLIED) or "{}")
        except (msgspec.DecodeError, RecursionError):
            last = {}
        gone = removals(last, manifest) or {}
        after = strategic_merge(strategic_merge(before, gone), manifest)
        if after == before:
            return state, []
        annotations = (after.get("metadata") or {}).get("annotations") or {}
        if _LAST_APPLIED in annotations:  # kubectl applied it before: what it has applied now
            text = msgspec.json.encode(manifest).decode()
            after["metadata"]["annotations"] = {**annotations, _LAST_APPLIED: text}
        state, effects = change_object(self, state, kind, before, after)
        return state, [Effect(f"{manifest['kind']} {obj.key}", "configured"), *effects]

    def _key(
        self, kind: ObjectKind, manifest: Manifest, taken: Iterable[tuple[str, str]]
    ) -> tuple[str, str]:
        """Return the namespace, "" for a kind without one, and the name, which may be generated.
        Raises InputError without a name.

        taken: keys of the kind's objects
        """
        metadata = manifest.get("metadata") or {}
        if kind.namespaced:
            metadata["namespace"] = metadata.get("namespace") or self.namespace
        namespace = metadata["namespace"] if kind.namespaced else ""
        base = metadata.get("generateName")
        if not metadata.get("name") and base and isinstance(base, str):
            names = {name for own, name in taken if own == namespace}
            metadata["name"] = next(generated_names(base, names))
        if not metadata.get("name"):
            subject = f"{manifest['kind']}: metadata.name"
            raise InputError(self.source, "expected a name", subject=subject)
        return namespace, metadata["name"]


def _run(state: ClusterState, cron_job: CronJob) -> Changed:
    """Add the Job of one run of a CronJob that was applied."""
    job = cron_job_run(state, cron_job)
    if job is None:
        return state, []
    label = f"Job {cron_job.namespace}/{job['metadata']['name']}"
    effects = [Effect(label, "created", f"a run of CronJob {cron_job.key}")]
    return replaced(state, KINDS["Job"], [job]), effects


def _flattened(documents: Iterable[Any], source: str) -> Iterable[Manifest]:
    """Yield the objects, and those of lists one by one. Raises InputError."""
    for document in documents:
        if isinstance(document, list):
            yield from _flattened(document, source)
        elif not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise InputError(source, "expected objects, each with apiVersion and kind")
        elif document["kind"].endswith("List") and "items" in document:
            items = document["items"] or []
            yield from _flattened(items if isinstance(items, list) else [items], source)
        else:
            # What every kind's manifest requires; the decoder of its kind checks the rest.
            metadata = document.get("metadata") or {}
            parts: list[tuple[str, object, type, str]] = [
                ("metadata", metadata, dict, "an object"),
                ("spec", document.get("spec"), dict, "an object"),
            ]
            if isinstance(metadata, dict):
                names = ("name", "namespace")
                parts += [(f"metadata.{key}", metadata.get(key), str, "a string") for key in names]
                annotations = metadata.get("annotations")
                parts.append(("metadata.annotations", annotations, dict, "an object"))
            for path, value, shape, expected in parts:
                if value is not None and not isinstance(value, shape):
                    subject = f"{document['kind']}: {path}"
                    raise InputError(
                        source, f"expected {expected}, got {value!r:.60}", subject=subject
                    )
            yield document


@dataclass(frozen=True, slots=True)
class ManifestPatch(Change):
    """kind: "strategic", "merge" or "json"."""

    target: Target
    patch: Any
    kind: str

    @staticmethod
    def parse(arguments: Arguments) -> ManifestPatch:
        if _QUOTE_IN_JSON.search(arguments.text) and '"' not in arguments.flags.get("--patch", '"'):
            raise arguments.error(
                """the shell removed the quotes of -p; write -p '{"spec": …}', or -p @FILE"""
            )
        target = read_target(arguments, tuple(KINDS))
        kind = arguments.flags.get("--type", "strategic")
        if kind not in _PATCHES:
            raise arguments.error(f'--type is "{kind}"; it takes {", ".join(_PATCHES)}')
        text = arguments.flags.get("--patch", "")
        path = arguments.flags.get("--patch-file") or (text[1:] if text.startswith("@") else "")
        if path:
            raw, name = read_file(path if path == "-" else str(arguments.folder / path))
            text = decode_text(raw, name)
        try:
            patch = next(iter(load_documents(text, "-p")), None)
        except InputError as error:
            raise arguments.error(f"{path or '-p'}: {error.problem}") from None
        if not isinstance(patch, list if kind == "json" else dict):
            raise arguments.error(
                """-p takes JSON or YAML in quotes, such as -p '{"spec": …}', or -p @FILE"""
            )
        return ManifestPatch(arguments.text, target, patch, kind)

    def apply(self, state: ClusterState) -> Changed:
        kind, obj = find_object(self, state, self.target)
        before = plain_object(kind, obj)
        try:
            after = _PATCHES[self.kind](deepcopy(before), self.patch)
        except JsonPatchError as error:
            raise self.error(str(error)) from None
        label = f"{kind.name} {obj.key}"
        if after == before:
            return state, [Effect(label, "unchanged")]
        state, effects = change_object(self, state, kind, before, after)
        return state, [Effect(label, "patched"), *effects]


def change_object(
    change: Change, state: ClusterState, kind: ObjectKind, before: Manifest, after: Manifest
) -> Changed:
    """Replace the object, and do what its controller does: recreate pods from a changed template,
    add or remove pods."""
    metadata, old, new = before["metadata"], before.get("spec") or {}, after.get("spec") or {}
    namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
    target = Target(kind.name, metadata["name"], namespace)
    state = replaced(state, kind, [after])
    effects: list[Effect] = []
    if kind.name == "Node":  # pods leave it because of its new taints and labels
        if new.get("taints") != old.get("taints"):
            state, effects = evict_untolerating(state, {target.name})
        state, removals = remove_stray_daemons(state, {target.name})
        return state, effects + removals
    if kind.name not in WORKLOADS:
        return state, []
    template, replicas = new.get("template"), new.get("replicas")
    if template and template != old.get("template"):
        workload = find_workload(change, state, target)
        state, effects = restarted(state, workload)
        # Its pods and ReplicaSets get this template; their names stay.
        pods = []
        for pod in current_pods(state, workload):
            plain = plain_object(KINDS["Pod"], pod)
            spec = deepcopy(template.get("spec") or {})
            if is_owned_by(pod, "StatefulSet"):
                # A stateful pod keeps its claims.
                volumes = plain["spec"].get("volumes") or ()
                claims = [each for each in volumes if "persistentVolumeClaim" in each]
                own = {each["name"] for each in claims}
                rest = (each for each in spec.get("volumes") or () if each.get("name") not in own)
                spec["volumes"] = [*claims, *rest]
            labels = (template.get("metadata") or {}).get("labels") or {}
            plain["metadata"]["labels"] = {**pod.metadata.labels, **labels}
            plain["spec"] = spec
            if is_of_daemon_set(pod):
                # A daemon pod keeps its node, and the tolerations that the controller has given it.
                tolerations = (plain_json(pod.raw).get("spec") or {}).get("tolerations") or ()
                spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerations]
                plain = on_node(plain, target_node(pod))
            pods.append(plain)
        state = replaced(state, KINDS["Pod"], pods)
        sets = KINDS["ReplicaSet"]
        renewed = [plain_object(sets, each, template=template) for each in workload.replica_sets]
        state = replaced(state, sets, renewed)
    if kind.name in SCALABLE and replicas != old.get("replicas"):
        workload = find_workload(change, state, target)
        state, more = resize(change, state, workload, 1 if replicas is None else replicas)
        effects += more
    return state, effects
