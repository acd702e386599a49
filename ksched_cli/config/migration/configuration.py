"""The edits that make a v1beta1, v1beta2 or v1beta3 document one of v1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.migration.old_versions import FIT, EnabledPlugins, OldStrategy, OldVersion
from ksched_cli.config.migration.settle import Remarks, index_named, list_at
from ksched_cli.config.types import API_VERSION, GROUP
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Path

_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
_LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
_AVOID = "NodePreferAvoidPods"
_SERVED = "health and metrics are served on the flags --bind-address and --secure-port"
AVOID_PODS = "the nodes' annotation scheduler.alpha.kubernetes.io/preferAvoidPods is not read"
AVOID_PODS_HINT = "a taint with effect PreferNoSchedule keeps pods away"


@dataclass(frozen=True, slots=True)
class OldProfile:
    """A profile of an old document, and what it did. named: what it enables at score itself"""

    index: int
    effect: EnabledPlugins
    strategy: OldStrategy
    named: tuple[str, ...]
    version: OldVersion
    registry: KnownPlugins
    document: EditableDocument
    remarks: Remarks

    @property
    def path(self) -> Path:
        return ("profiles", self.index)

    def is_gone(self, name: Any) -> bool:
        """Return whether v1 has a plugin no more."""
        if not isinstance(name, str):
            return False
        was_in_tree = name in self.version.points or name in name_tables().removed_plugins
        return was_in_tree and name not in self.registry


def edit_top(document: EditableDocument, version: OldVersion, remarks: Remarks) -> None:
    """apiVersion, and the fields that v1 lacks or takes no longer."""
    document.put(("apiVersion",), API_VERSION)
    for key in _ADDRESSES:
        if key in document.data:
            remarks.changed((key,), f"{key} is left out: v1 has no such field", _SERVED)
            document.delete((key,))
    lock = document.get(("leaderElection", "resourceLock"))
    if lock not in (None, "", "leases"):
        path: Path = ("leaderElection", "resourceLock")
        message = f'resourceLock "{lock}" is "leases" now: v1 accepts no other'
        hint = "stop schedulers that hold the old lock first, or two lead for a while"
        remarks.lost(path, message, hint)
        document.put(path, "leases")


def edit_profile(profile: OldProfile) -> None:
    """The plugin lists and args; settle.py adds what is missing then."""
    if profile.effect.refusal:
        message = f"kube-scheduler {profile.version.release} refused this profile"
        text = f"{message}: {profile.effect.refusal}"
        profile.remarks.lost(profile.path, text, "each plugin is kept once, where v1 allows it")
    for name in profile.strategy.others:
        plugin = profile.strategy.plugin
        message = f"{name} scored too; v1 has one scoring strategy, that of {plugin}"
        hint = f"disable {name} in the old file to see what changes"
        profile.remarks.lost((*profile.path, "plugins", "score"), message, hint)
    if profile.effect.runs(_AVOID, "score") and _AVOID not in profile.named:
        profile.remarks.changed(profile.path, AVOID_PODS, AVOID_PODS_HINT)
    document, plugins = profile.document, (*profile.path, "plugins")
    points = document.get(plugins)
    for point in list(points) if isinstance(points, Mapping) else ():
        if point in profile.version.unread_points:
            message = f"{profile.version.name} did not mind {point}: it is left out"
            profile.remarks.changed((*plugins, point), message)
            document.delete((*plugins, point))
            continue
        for key in ("enabled", "disabled"):
            entries = (*plugins, point, key)
            for entry_index in reversed(range(len(list_at(document, entries)))):
                _edit_entry(profile, (*entries, entry_index), point, key == "enabled")
    _edit_args(profile)
    # The strategy of a plugin that had no args; and not one that NodeResourcesFit had in vain.
    kind, index = profile.strategy.type, _config_index(profile, FIT)
    path = (*profile.path, "pluginConfig", index or 0, "args", "scoringStrategy")
    args = None if index is None else profile.document.get(path)
    is_set = isinstance(args, Mapping) and args.get("type") == kind
    if kind and not is_set and (kind != "LeastAllocated" or args is not None):
        _put_strategy(profile, strategy_args(kind, {}), None)


def _successor(name: str) -> str:
    """Return what to use in the place of a plugin that is gone."""
    return name_tables().removed_plugins.get(name, "").removeprefix("removed; ")


# -- plugin lists ---------------------------------------------------------------------------------


def _edit_entry(profile: OldProfile, path: Path, point: str, enabled: bool) -> None:
    name = profile.document.get((*path, "name"))
    if not profile.is_gone(name):
        return
    if enabled and point == "score" and name == profile.strategy.plugin:
        kind = profile.strategy.type
        profile.remarks.changed(path, f"{name} is {FIT} with the strategy {kind} now")
        profile.document.put((*path, "name"), FIT)
        return
    profile.document.delete(path)
    if name in profile.strategy.others or name == profile.strategy.plugin:
        return
    if not enabled:
        profile.remarks.changed(path, f"{name} is gone; nothing to disable")
    elif _is_replaced(profile, name, point):
        profile.remarks.changed(path, f"{name} is left out", _successor(name))
    else:
        profile.remarks.lost(path, f"{name} is gone from v1", _successor(name))


def _is_replaced(profile: OldProfile, name: str, point: str) -> bool:
    """Return whether another plugin of the profile does the same at this point."""
    if name in _LIMITS:
        return profile.effect.runs("NodeVolumeLimits", "filter")
    if name == "NodeLabel":  # its preferences are remarked on with its args
        return point == "score" or profile.effect.runs("NodeAffinity", "filter")
    return not profile.effect.runs(name, point)


# -- args -----------------------------------------------------------------------------------------


def _edit_args(profile: OldProfile) -> None:
    configs = (*profile.path, "pluginConfig")
    for index in reversed(range(len(list_at(profile.document, configs)))):
        path = (*configs, index)
        config = profile.document.get(path)
        if not isinstance(config, Mapping):
            continue
        given, args = config.get("name"), config.get("args")
        name = str(given)
        args = args if isinstance(args, Mapping) else {}
        if profile.is_gone(given):
            # The args of a plugin that is gone move into those of the plugin that does its work.
            own = {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
            if name == profile.strategy.plugin:
                _put_strategy(profile, strategy_args(profile.strategy.type, own), path)
            elif name == "NodeLabel":
                _carry_labels(profile, path, own)
            else:
                profile.document.delete(path)
                message = f"the args of {name} are left out with it"
                profile.remarks.changed(path, message, _successor(name))
        else:
            if args.get("apiVersion") == f"{GROUP}/{profile.version.name}":
                profile.document.put((*path, "args", "apiVersion"), API_VERSION)
                if name not in profile.version.points:
                    message = f"the args of {name} say {API_VERSION} now"
                    hint = "the build of kube-scheduler that has the plugin must know them by that"
                    profile.remarks.changed((*path, "args", "apiVersion"), message, hint)
            lists = name == "PodTopologySpread" and args.get("defaultConstraints")
            if lists and not args.get("defaultingType") and profile.version.name == "v1beta1":
                message = (
                    "defaultingType: List is written out; v1beta1 took it so beside constraints"
                )
                profile.remarks.changed((*path, "args"), message)
                profile.document.put((*path, "args", "defaultingType"), "List")


def strategy_args(kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scoringStrategy. args: of the plugin that it was"""
    out: dict[str, Any] = {"type": kind}
    if args.get("resources"):
        out["resources"] = args["resources"]
    if args.get("shape"):
        out["requestedToCapacityRatio"] = {"shape": args["shape"]}
    return out


def _put_strategy(profile: OldProfile, strategy: Mapping[str, Any], place: Path | None) -> None:
    """place: an entry of pluginConfig to write it in, where NodeResourcesFit has none."""
    document, index = profile.document, _config_index(profile, FIT)
    args, configs = {"scoringStrategy": dict(strategy)}, (*profile.path, "pluginConfig")
    if index is not None:
        path = (*configs, index, "args")
        if isinstance(document.get(path), Mapping):
            document.put((*path, "scoringStrategy"), dict(strategy))
        else:
            document.put(path, args)
        if place is not None:
            document.delete(place)
    elif place is not None:
        document.put((*place, "args"), args)
        document.put((*place, "name"), FIT)
    else:
        document.put((*configs, len(list_at(document, configs))), {"name": FIT, "args": args})


def _config_index(profile: OldProfile, name: str) -> int | None:
    return index_named(profile.document, (*profile.path, "pluginConfig"), name)


# -- NodeLabel ------------------------------------------------------------------------------------


def _carry_labels(profile: OldProfile, path: Path, args: Mapping[str, Any]) -> None:
    """presentLabels and absentLabels become addedAffinity of NodeAffinity, which all pods have."""
    preferred = [
        *texts(args.get("presentLabelsPreference")),
        *texts(args.get("absentLabelsPreference")),
    ]
    if preferred and profile.effect.runs("NodeLabel", "score"):
        message = f"NodeLabel preferred nodes by {', '.join(preferred)}; v1 has no such score"
        hint = "NodeAffinity's addedAffinity may prefer them, weighed with what pods prefer"
        profile.remarks.lost((*path, "args"), message, hint)
    profile.document.delete(path)
    required = label_requirements(args.get("presentLabels"), args.get("absentLabels"))
    if required and profile.effect.runs("NodeLabel", "filter"):
        add_affinity(profile, path, required)


def texts(value: Any) -> list[str]:
    """Return the texts of a list; none where it is not a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def label_requirements(present: Any, absent: Any) -> list[dict[str, Any]]:
    """matchExpressions of labels that must be there, or must not."""
    return [
        *({"key": label, "operator": "Exists"} for label in texts(present)),
        *({"key": label, "operator": "DoesNotExist"} for label in texts(absent)),
    ]


def add_affinity(profile: OldProfile, path: Path, required: Sequence[Mapping[str, Any]]) -> None:
    """Add expressions to every term that NodeAffinity's args require."""
    if not profile.effect.runs("NodeAffinity", "filter"):
        message = "NodeLabel's labels are not required any more: NodeAffinity does not filter"
        profile.remarks.lost(path, message, "enable NodeAffinity at preFilter and filter")
        return
    document, index = profile.document, _config_index(profile, "NodeAffinity")
    configs = (*profile.path, "pluginConfig")
    if index is None:
        index = len(list_at(document, configs))
        document.put((*configs, index, "name"), "NodeAffinity")
    terms = (*configs, index, "args", "addedAffinity")
    terms = (*terms, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    for term, present in enumerate(list_at(document, terms) or [{}]):
        # What is no term is left for `validate` to refuse.
        for expression in required if isinstance(present, Mapping) else ():
            expressions = (*terms, term, "matchExpressions")
            count = len(list_at(document, expressions))
            document.put((*expressions, count), dict(expression))
    profile.remarks.changed(path, "NodeLabel's labels are addedAffinity of NodeAffinity now")
