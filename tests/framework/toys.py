"""Plugins that answer from a table, for tests of what runs them."""

from ksched_cli.framework.interface import (
    FilterPlugin,
    NormalizeScore,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.status import SUCCESS


class Toy:
    """Plugins are made with args and a handle; toys need neither."""

    def __init__(self, args, handle):
        pass


def filtering(name, answers, asked=None):
    """answers: node name → Status, success where there is none. asked: collects names."""

    class FilterRunner(Toy, FilterPlugin):
        def filter(self, state, pod, node):
            if asked is not None:
                asked.append(node.name)
            return answers.get(node.name, SUCCESS)

    FilterRunner.name = name
    return FilterRunner


def scoring(name, answers):
    """answers: node name → raw score, 0 where there is none."""

    class Scoring(Toy, ScorePlugin):
        def score(self, state, pod, node):
            return answers.get(node.name, 0)

    Scoring.name = name
    return Scoring


def normalizing(name, answers, normalize):
    """normalize: the raw scores as an array → those that count."""

    class Normalizing(scoring(name, answers), NormalizeScore):
        def normalize_scores(self, state, pod, nodes, scores):
            return normalize(scores)

    return Normalizing


def preparing(name, status):
    """Its PreScore says `status`; its Score would be 100 everywhere."""

    class Preparing(Toy, PreScorePlugin, ScorePlugin):
        def pre_score(self, state, pod, nodes):
            return status

        def score(self, state, pod, node):
            return 100

    Preparing.name = name
    return Preparing


def narrowing(name, names, status=SUCCESS):
    """Its PreFilter leaves these nodes only; None leaves all."""

    class Narrowing(Toy, PreFilterPlugin):
        def pre_filter(self, state, pod, nodes):
            result = None if names is None else PreFilterResult(frozenset(names))
            return result, status

    Narrowing.name = name
    return Narrowing


def profile(*plugins, **points):
    """A configuration of these plugins alone, and the two that every profile needs."""
    names = ["PrioritySort", *(plugin.name for plugin in plugins), "DefaultBinder"]
    enabled = [{"name": name} for name in names]
    multi_point = {"disabled": [{"name": "*"}], "enabled": enabled}
    return {"profiles": [{"plugins": {"multiPoint": multi_point, **points}}]}
