"""Settings that kube-scheduler accepts silently and that are probably not meant.

Each function is one rule over a profile or the whole configuration; RULES and PROFILE_RULES list
them. `given` is the file as it was decoded, `profile` its profile with defaults and merged plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ksched_cli.config.checks.findings import Findings, Severity
from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.checks.refusals import unknown_plugin
from ksched_cli.config.effective import KnownPlugins, Profile
from ksched_cli.config.startup import tls_files
from ksched_cli.config.types import (
    ALL,
    DEFAULT_SCHEDULER_NAME,
    MULTI_POINT,
    Plugins,
    PluginSetEntry,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.kube.documents import Path
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.near_names import nearest
from ksched_cli.kube.small_files import unreadable
from ksched_cli.masking import masked_url


@dataclass(frozen=True, slots=True)
class LintedProfile:
    """One profile under a rule. effective is None where the profile cannot start."""

    path: Path
    given: SchedulerProfile
    effective: Profile | None
    registry: KnownPlugins
    findings: Findings

    def entries(
        self, *points: str, key: str = "enabled"
    ) -> Iterator[tuple[Path, str, PluginSetEntry]]:
        """Path, point and entry of what the file enables at these points, or disables. key: of the
        list"""
        for point in points:
            chosen = (self.given.plugins or Plugins()).at(point)
            entries = chosen.enabled if key == "enabled" else chosen.disabled
            for index, plugin in enumerate(entries or ()):
                yield (*self.path, "plugins", point, key, index), point, plugin

    def extends(self, name: str, point: str) -> bool:
        return name in self.registry and point in self.registry[name].points

    def is_default(self, name: str) -> bool:
        return name in self.registry and self.registry[name].enabled_by_default

    def scores(self, name: str) -> bool:
        """Return whether a plugin that the file enables scores, as far as is tables."""
        off = self.effective is not None and name not in self.placed("score")
        return self.extends(name, "score") and not off

    def placed(self, point: str) -> set[str]:
        """Return the plugins that run at a point."""
        if self.effective is None:
            return set()
        return {ref.name for ref in self.effective.plugins.get(point, ())}


def odd_weights(subject: LintedProfile) -> None:
    """A weight of 0 counts as 1 (framework.go, getScoreWeights). Upstream takes negative weights,
    and overflows where another weight follows."""
    for path, _, plugin in subject.entries("score", MULTI_POINT):
        path, weight = (*path, "weight"), plugin.weight
        if weight is None or weight > 0 or not subject.scores(plugin.name):
            continue
        if weight == 0:
            hint = "to leave the plugin out of scoring, disable it at score"
            message = f"weight 0 of {plugin.name} counts as 1"
            subject.findings.warn("weight-zero", path, message, hint)
        elif not subject.findings.has_error_at(path):
            message = (
                f"{plugin.name} has a negative weight: it prefers the nodes that it scores lowest"
            )
            hint = "write a weight above 0; to leave the plugin out, disable it at score"
            subject.findings.warn("weight-negative", path, message, hint)


def ignored_weights(subject: LintedProfile) -> None:
    """Only score, and multiPoint for plugins that score, read a weight."""
    for path, point, plugin in subject.entries(*POINT_KEYS, MULTI_POINT):
        belongs = subject.extends(plugin.name, "score")
        scores = point == "score" or (point == MULTI_POINT and belongs)
        if plugin.weight is not None and plugin.name in subject.registry and not scores:
            why = "it does not score" if point == MULTI_POINT else f"{point} reads none"
            message = f"the weight of {plugin.name} is ignored: {why}"
            hint = "weights belong under score or multiPoint" if belongs else "remove it"
            subject.findings.warn("weight-ignored", (*path, "weight"), message, hint)
    for path, _, plugin in subject.entries(*POINT_KEYS, MULTI_POINT, key="disabled"):
        if plugin.weight is not None:
            message = f"the weight of {plugin.name} in a disabled list is ignored"
            subject.findings.warn("weight-ignored", (*path, "weight"), message, "remove it")


def hidden_weights(subject: LintedProfile) -> None:
    """A plugin under both score and multiPoint has score's weight."""
    here = {plugin.name: plugin.weight or 1 for _, _, plugin in subject.entries("score")}
    for path, _, plugin in subject.entries(MULTI_POINT):
        weight = plugin.weight
        if weight is not None and here.get(plugin.name, weight) != weight:
            message = (
                f"weight {weight} of {plugin.name} has no effect: the entry under score "
                f"sets {here[plugin.name]}"
            )
            subject.findings.warn("weight-hidden", (*path, "weight"), message, "keep one of them")


def outvoted_strategy(subject: LintedProfile) -> None:
    """Plugins that spread by default pull against a strategy that packs."""
    if subject.effective is None:
        return
    fit, weights = subject.effective.args.get("NodeResourcesFit"), subject.effective.weights
    if fit is None or "NodeResourcesFit" not in weights:
        return
    strategy = fit.scoring_strategy.type if fit.scoring_strategy else ""
    if strategy not in ("MostAllocated", "RequestedToCapacityRatio"):
        return
    spread = subject.effective.args.get("PodTopologySpread")
    spreads = spread is not None and spread.defaulting_type == "System"
    against = {
        name: weights[name]
        for name in ("NodeResourcesBalancedAllocation", "PodTopologySpread")
        if name in weights and (spreads or name != "PodTopologySpread")
    }
    own = weights["NodeResourcesFit"]
    if sum(against.values()) >= own:
        listed = ", ".join(f"{name} {weight}" for name, weight in against.items())
        message = f"{strategy} has weight {own}; plugins that spread pods outvote it: {listed}"
        hint = "raise NodeResourcesFit's weight under score, or disable those at score"
        names = [config.name for config in subject.given.plugin_config or ()]
        path = subject.path
        if "NodeResourcesFit" in names:
            path = (*path, "pluginConfig", names.index("NodeResourcesFit"))
        subject.findings.warn("strategy-outvoted", path, message, hint)


# Point, the other one, and what is wrong with a plugin that is at the first and not at the other.
_HALF = "{} runs without {}, which prepares it"
_PAIRS = (
    ("score", "preScore", Severity.WARNING, "half-scored", _HALF),
    ("preScore", "score", Severity.INFO, "idle-prescore", "{} runs, but {} is off"),
    ("filter", "preFilter", Severity.WARNING, "half-filtered", _HALF),
)
# Where a plugin protects pods, if not at filter.
_PROTECTS_AT = {"SchedulingGates": "preEnqueue"}
_REMOVE = "remove the entry"
_SCORE_ONLY = "; to leave only its score out, disable it at score"
_REPLACED = (
    "if another plugin or an extender replaces it, add # ksched: ignore[{rule}] (for "
    "JSON, perFileIgnores of .ksched.yaml)"
)


def halves(subject: LintedProfile) -> None:
    """A plugin whose other half is switched off; one finding per entry that does so. Nobody knows
    what an allowed plugin without code needs."""
    for point, other, severity, rule, problem in _PAIRS:
        names = [
            name
            for name in sorted(subject.placed(point) - subject.placed(other))
            if subject.extends(name, other) and subject.registry[name].origin != "allowed"
        ]
        for path, here in _by_entry(subject, names, other).items():
            it = "it" if len(here) == 1 else "them"
            hint = f"leave {it} on at {other}"
            if point != "filter":  # which pods rely on, see switched_off
                hint = f"disable {it} at {point} too, or {hint}"
            message = f"{', '.join(here)}: {problem.format(point, other)}"
            subject.findings.add(severity, rule, path, message, hint)


def switched_off(subject: LintedProfile) -> None:
    """Plugins that pods rely on and that the profile does not run; one finding per entry."""
    if subject.effective is None:
        return
    for rule, severity, effects in (
        ("safety-off", Severity.ERROR, name_tables().unsafe),
        ("requirement-off", Severity.WARNING, name_tables().unmet),
    ):
        for point in ("filter", "preEnqueue"):
            names = [
                name
                for name in effects
                if _PROTECTS_AT.get(name, "filter") == point
                and subject.is_default(name)
                and name not in subject.placed(point)
            ]
            for path, here in _by_entry(subject, names, point).items():
                message = "; ".join(f"without {name}, {effects[name]}" for name in here)
                scores = any(subject.extends(name, "score") for name in here)
                hint = f"leave it on{_SCORE_ONLY if scores else ''}; {_REPLACED.format(rule=rule)}"
                subject.findings.add(severity, rule, path, message, hint)


def _by_entry(subject: LintedProfile, names: Iterable[str], point: str) -> dict[Path, list[str]]:
    """Return the plugins by the entry that takes them from a point."""
    by_entry: dict[Path, list[str]] = {}
    disabled = list(subject.entries(point, MULTI_POINT, key="disabled"))
    for name in names:
        paths = [path for path, _, plugin in disabled if plugin.name in (name, ALL)]
        by_entry.setdefault((*paths, (*subject.path, "plugins", point))[0], []).append(name)
    return by_entry


def unused_args(subject: LintedProfile) -> None:
    """pluginConfig for a plugin that the profile does not run."""
    enabled = set().union(*(subject.placed(point) for point in POINT_KEYS))
    for index, config in enumerate(subject.given.plugin_config or ()):
        path = (*subject.path, "pluginConfig", index)
        plugin = subject.registry.get(config.name)
        if plugin is None:
            message, hint = unknown_plugin(config.name, subject.registry)
            problem = f"{message}; these args have no effect"
            subject.findings.warn("args-of-unknown", (*path, "name"), problem, hint)
        elif subject.effective is not None and config.name not in enabled:
            message = f"the profile does not enable {config.name}; these args have no effect"
            hint = "enable it, or remove them"
            subject.findings.warn("args-unused", (*path, "name"), message, hint)
        elif plugin.origin == "in-tree" and plugin.in_tree_args is None:
            message = f"{config.name} takes no args; these have no effect"
            subject.findings.warn("args-unused", (*path, "name"), message, "remove them")


def vain_disabling(subject: LintedProfile) -> None:
    """Note names in a disabled list that were not on; one near a plugin's leaves that one on."""
    for path, point, plugin in subject.entries(*POINT_KEYS, MULTI_POINT, key="disabled"):
        name = plugin.name
        if name == ALL or (point == MULTI_POINT and name in subject.registry):
            continue
        if name not in subject.registry:
            problem, hint = unknown_plugin(name, subject.registry)
            near, tables = nearest(name, subject.registry), name_tables()
            if near and name not in (
                *tables.removed_plugins,
                *tables.policy_names,
                *tables.foreign_plugins,
            ):
                message = f"{problem}: nothing is disabled, and {near} stays on"
                subject.findings.alarm("disables-misspelt", (*path, "name"), message, hint)
            else:
                message = f'unknown plugin "{name}" in a disabled list'
                subject.findings.warn("disables-nothing", path, message, _REMOVE)
        elif not subject.extends(name, point):
            extends = [key for key in POINT_KEYS if key in subject.registry[name].points]
            message = f"{name} does not extend {point}, so disabling it has no effect"
            hint = f"{_REMOVE}; {name} extends {', '.join(extends)}"
            subject.findings.warn("disables-nothing", path, message, hint)


def dropped_default(
    given: SchedulerConfiguration, defaulted: SchedulerConfiguration, findings: Findings
) -> None:
    """Pods name default-scheduler by default."""
    names = {profile.scheduler_name for profile in defaulted.profiles or ()}
    if DEFAULT_SCHEDULER_NAME not in names and any(names):
        message = "no profile is named default-scheduler: pods without a schedulerName stay pending"
        hint = "add a profile with schedulerName: default-scheduler"
        findings.warn("no-default-profile", ("profiles",), message, hint)


def leader_election(
    _given: SchedulerConfiguration, defaulted: SchedulerConfiguration, findings: Findings
) -> None:
    """client-go's leaderelection.NewLeaderElector refuses it once kube-scheduler runs."""
    election = defaulted.leader_election
    least = int(1.2 * election.retry_period)  # in Go's floats, JitterFactor
    if election.leader_elect and election.renew_deadline <= least:
        deadline, period = map(duration_text, (election.renew_deadline, election.retry_period))
        message = (
            f"renewDeadline {deadline} must be more than 1.2 times retryPeriod, which is "
            f"{period}: kube-scheduler accepts the file and exits when leader election starts"
        )
        hint = f"write a renewDeadline above {duration_text(least)} and "
        if election.lease_duration > least + 1_000_000_000:
            hint += f"below leaseDuration, {duration_text(election.lease_duration)}"
        else:
            hint += "a leaseDuration above that"
        hint += " (defaults 10s, 2s and 15s)"
        findings.alarm("leader-election", ("leaderElection", "renewDeadline"), message, hint)


def extenders(
    given: SchedulerConfiguration, _defaulted: SchedulerConfiguration, findings: Findings
) -> None:
    """Note extenders that cannot be reached or do nothing."""
    for index, extender in enumerate(given.extenders or ()):
        path: Path = ("extenders", index)
        scheme, separator, rest = extender.url_prefix.partition("://")
        if not separator or scheme not in ("http", "https") or not rest.strip("/"):
            shown = masked_url(extender.url_prefix)
            message = f'"{shown}" is not a URL; every call to this extender will fail'
            findings.warn("extender-url", (*path, "urlPrefix"), message, "as http://host:port/path")
        elif extender.enable_https and scheme == "http":
            message = "enableHTTPS has no effect on a URL that begins with http://"
            findings.warn("extender-https", (*path, "urlPrefix"), message, "write https://")
        placing = extender.filter_verb or extender.prioritize_verb or extender.bind_verb
        if not (placing or extender.preempt_verb):
            message = "the extender has no verb, so it is never called"
            hint = "set filterVerb, prioritizeVerb, preemptVerb or bindVerb"
            findings.warn("extender-idle", path, message, hint)
        if extender.weight and not extender.prioritize_verb:
            message = "the extender's weight is ignored: it has no prioritizeVerb"
            hint = "set prioritizeVerb, or remove the weight"
            findings.warn("extender-weight", (*path, "weight"), message, hint)
        if extender.http_timeout < 0:
            message = "a negative httpTimeout makes every call fail at once"
            hint = "leave it out for the default, 5s"
            findings.warn("extender-timeout", (*path, "httpTimeout"), message, hint)


def extender_files(given: SchedulerConfiguration, findings: Findings) -> None:
    """Note certificates and keys that are not on this machine."""
    for index, extender in enumerate(given.extenders or ()):
        for key, file in tls_files(extender).items():
            problem = unreadable(file)
            if problem is not None:
                message = f"{problem} on this machine; kube-scheduler reads it when it starts"
                hint = "it must exist where kube-scheduler runs, for example in a volume of its pod"
                path: Path = ("extenders", index, "tlsConfig", key)
                findings.inform("extender-file", path, message, hint)


PROFILE_RULES: tuple[Callable[[LintedProfile], None], ...] = (
    odd_weights,
    ignored_weights,
    hidden_weights,
    outvoted_strategy,
    halves,
    switched_off,
    unused_args,
    vain_disabling,
)
RULES: tuple[Callable[[SchedulerConfiguration, SchedulerConfiguration, Findings], None], ...] = (
    dropped_default,
    leader_election,
    extenders,
)
