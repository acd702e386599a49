"""Counters that follow pods, against counting anew."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.snapshot import MISSING, Snapshot
from ksched_cli.cluster.topology.pod_index import (
    Clause,
    DomainCounter,
    Namespaces,
    PodIndex,
    PodSelection,
    TermKind,
)
from ksched_cli.kube.selectors import EVERYTHING, NOTHING, Requirement, Selector
from ksched_cli.testing import cluster, node, pod

# namespace, labels, whether it is being deleted, the row of its node
DrawnPod = tuple[str, dict[str, str], bool, int]

ZONES = ("a", "b", "", None)
LABELS = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from("xyz"))
PODS = st.tuples(
    st.sampled_from(("default", "blue")), LABELS, st.booleans(), st.integers(0, len(ZONES) - 1)
)
VALUES = st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(tuple)
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement, st.sampled_from(("app", "tier")), st.sampled_from(("In", "NotIn")), VALUES
    ),
    st.builds(
        Requirement, st.sampled_from(("app", "tier")), st.sampled_from(("Exists", "DoesNotExist"))
    ),
)
SELECTORS = st.one_of(
    st.sampled_from((EVERYTHING, NOTHING)),
    st.lists(REQUIREMENTS, max_size=3).map(lambda requirements: Selector(tuple(requirements))),
)
NAMESPACES = st.builds(
    Namespaces, st.frozensets(st.sampled_from(("default", "blue", "green"))), st.booleans()
)
SELECTIONS = st.builds(
    PodSelection,
    st.lists(st.builds(Clause, NAMESPACES, SELECTORS), min_size=1, max_size=2).map(tuple),
    st.booleans(),
)


def nodes() -> list[dict[str, Any]]:
    labels = [{} if zone is None else {"zone": zone} for zone in ZONES]
    return [node(f"n{i}", labels=own) for i, own in enumerate(labels)]


def infos(drawn: list[DrawnPod]) -> list[tuple[PodInfo, int]]:
    """The pods, each with its row."""
    catalog = PodCatalog()
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    manifests = [
        pod(f"p{i}", namespace, labels=labels, metadata=deleted if deleting else {})
        for i, (namespace, labels, deleting, _) in enumerate(drawn)
    ]
    loaded = cluster(*manifests).pods
    return [(catalog.info(each), row) for each, (*_, row) in zip(loaded, drawn, strict=True)]


def counted(snapshot: Snapshot, selection: PodSelection) -> dict[str, int]:
    """Per zone, by looking at every pod."""
    counts = dict.fromkeys(snapshot.labels["zone"].values, 0)
    for row, pods in enumerate(snapshot.pods):
        zone = ZONES[row]
        for info in pods:
            alive = selection.terminating or not info.pod.deleting
            if zone is not None and alive and selection.matches(info.namespace, info.labels):
                counts[zone] += 1
    return counts


def shown(counter: DomainCounter) -> dict[str, int]:
    return dict(zip(counter.domains.values, counter.counts.tolist(), strict=False))


@given(
    before=st.lists(PODS, max_size=8),
    between=st.lists(PODS, max_size=8),
    after=st.lists(PODS, max_size=4),
    leaving=st.lists(st.integers(0, 15), max_size=8, unique=True),
    selections=st.lists(SELECTIONS, min_size=1, max_size=4),
)
def test_counters_agree_with_counting_whenever_they_were_made(
    before: list[DrawnPod],
    between: list[DrawnPod],
    after: list[DrawnPod],
    leaving: list[int],
    selections: list[PodSelection],
) -> None:
    snapshot = Snapshot(cluster(*nodes()).nodes)
    arriving = infos(before + between + after)
    for info, row in arriving[: len(before)]:
        snapshot.add(info, row)
    index = snapshot.index(PodIndex)
    zones = index.domains("zone")
    early = [index.counter(selection, zones) for selection in selections[::2]]
    for info, row in arriving[len(before) :]:
        snapshot.add(info, row)
    for info, row in [arriving[i] for i in leaving if i < len(arriving)]:
        snapshot.remove(info, row)
    for selection, counter in zip(selections[::2], early, strict=True):
        assert index.counter(selection, zones) is counter
    for selection in selections:
        counter = index.counter(selection, zones)
        assert shown(counter) == counted(snapshot, selection)
        assert counter.total == counter.counts.sum()
        assert counter.counts[MISSING] == 0


@given(
    drawn=st.lists(PODS, max_size=8),
    leaving=st.lists(st.integers(0, 7), max_size=8, unique=True),
    staying=st.lists(st.integers(0, len(ZONES) - 1), unique=True),
    selection=SELECTIONS,
)
def test_an_index_that_moves_to_other_nodes_is_as_one_made_anew(
    drawn: list[DrawnPod], leaving: list[int], staying: list[int], selection: PodSelection
) -> None:
    objects = cluster(*nodes()).nodes
    before = Snapshot(objects)
    before.index(PodIndex)
    arriving = infos(drawn)
    for info, row in arriving:
        before.add(info, row)
    for info, row in [arriving[i] for i in leaving if i < len(arriving)]:
        before.remove(info, row)
    after = before.with_nodes([objects[row] for row in staying])
    moved, anew = after.index(PodIndex), PodIndex(after)
    assert moved is not anew
    shapes = [{each.model.shape: each.rows for each in index.shapes()} for index in (moved, anew)]
    assert shapes[0] == shapes[1]
    counters = [index.counter(selection, index.domains("zone")) for index in (moved, anew)]
    assert shown(counters[0]) == shown(counters[1])


@given(drawn=PODS, selection=SELECTIONS, term_first=st.booleans())
def test_a_term_is_known_to_the_groups_it_is_about(
    drawn: DrawnPod, selection: PodSelection, term_first: bool
) -> None:
    index = PodIndex(Snapshot(cluster(*nodes()).nodes))
    [(info, _)] = infos([drawn])
    if not term_first:
        index.group(info)
    term = index.term(selection, index.domains("zone"), TermKind.AVOIDS)
    about = selection.matches(info.namespace, info.labels)
    if info.pod.deleting and not selection.terminating:
        about = False
    assert (term in index.group(info).terms[TermKind.AVOIDS]) is about


def test_pods_of_one_look_share_a_group_and_terms_are_shared_by_value() -> None:
    index = PodIndex(Snapshot(cluster(*nodes()).nodes))
    first, second, deleted = [
        info
        for info, _ in infos([("default", {"app": "x"}, gone, 0) for gone in (False, False, True)])
    ]
    assert index.group(first) is index.group(second)
    assert index.group(first) is not index.group(deleted)

    def selection() -> PodSelection:
        return PodSelection((Clause(Namespaces(frozenset({"blue"})), EVERYTHING),))

    zones = index.domains("zone")
    term = index.term(selection(), zones, TermKind.PREFERS, 5)
    assert index.term(selection(), zones, TermKind.PREFERS, 5) is term
    assert index.term(selection(), zones, TermKind.PREFERS, -5) is not term


def test_a_snapshot_has_one_index() -> None:
    snapshot = Snapshot(cluster(*nodes()).nodes)
    assert snapshot.index(PodIndex) is snapshot.index(PodIndex)
    assert snapshot.index(PodIndex) is not snapshot.fork([]).index(PodIndex)
