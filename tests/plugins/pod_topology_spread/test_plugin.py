"""What cases alone do not show of PodTopologySpread: trials, what it looks at, what it explains."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.testing import cluster, explanation, node, pod, simulate
from trials import Forbidden, PluginRun, moved

NODES = [
    node("n0", labels={"zone": "a", "rack": "r1"}),
    node("n1", labels={"zone": "a", "rack": "r2", "disk": "ssd"}),
    node("n2", labels={"zone": "b", "rack": "r1", "disk": "ssd"}),
    node("n3", labels={"zone": "c"}),
]
NAMES = [one["metadata"]["name"] for one in NODES]
WEB = {"matchLabels": {"app": "web"}}


def constraint(key="zone", skew=1, when="DoNotSchedule", selector=WEB, **more):
    found = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when}
    return found | {"labelSelector": selector} | more


def spread(*constraints):
    return {"topologySpreadConstraints": list(constraints)}


CONSTRAINTS = st.builds(
    lambda key, skew, app, domains, policy: constraint(
        key,
        skew,
        selector={"matchLabels": {"app": app}},
        minDomains=domains,
        nodeAffinityPolicy=policy,
    ),
    st.sampled_from(("zone", "rack", "disk")),
    st.integers(1, 2),
    st.sampled_from("xy"),
    st.sampled_from((None, 1, 2, 4)),
    st.sampled_from(("Honor", "Ignore")),
)


@given(
    running=st.lists(st.sampled_from("xyz"), max_size=6),
    mover=st.sampled_from("xyz"),
    constraints=st.lists(CONSTRAINTS, min_size=1, max_size=2),
    asking=st.sampled_from("xyz"),
    selector=st.sampled_from(({}, {"disk": "ssd"})),
    place=st.sampled_from(NAMES),
    leaves=st.booleans(),
)
def test_following_a_pod_gives_what_asking_anew_gives(
    running, mover, constraints, asking, selector, place, leaves
):
    pods = [pod(f"b{i}", node=NAMES[i % 4], labels={"app": app}) for i, app in enumerate(running)]
    p = pod("p", labels={"app": asking}, node_selector=selector, spec=spread(*constraints))
    manifests = [*NODES, *pods, pod("mover", node=place, labels={"app": mover}), p]
    there = PluginRun("PodTopologySpread", manifests).pre_filter()
    gone = PluginRun("PodTopologySpread", moved(manifests, "mover", "")).pre_filter()
    before, after = (there, gone) if leaves else (gone, there)
    untouched = before.verdicts()
    trial = before.state.clone()
    before.follow(trial, "mover", place, added=not leaves)
    assert before.verdicts(trial) == after.verdicts()
    assert before.verdicts() == untouched
    before.follow(trial, "mover", place, added=leaves)
    assert before.verdicts(trial) == untouched
    assert before.verdicts(rows=[3, 1]) == [untouched[3], untouched[1]]


def test_a_trial_counts_pods_that_are_being_deleted():
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    manifests = [
        *NODES,
        pod("web", node="n2", labels={"app": "web"}),
        pod("going", labels={"app": "web"}, metadata=gone),
        pod("p", labels={"app": "web"}, spec=spread(constraint(skew=2))),
    ]
    asked = PluginRun("PodTopologySpread", manifests).pre_filter()
    assert asked.verdicts()[2] == "Success"
    trial = asked.state.clone()
    asked.follow(trial, "going", "n2", added=True)
    assert asked.verdicts(trial)[2] == "Unschedulable"


def test_a_trial_does_not_count_pods_of_other_namespaces():
    manifests = [
        *NODES,
        pod("web", "blue", labels={"app": "web"}),
        pod("p", labels={"app": "web"}, spec=spread(constraint())),
    ]
    asked = PluginRun("PodTopologySpread", manifests).pre_filter()
    trial = asked.state.clone()
    asked.follow(trial, "web", "n2", added=True)
    asked.follow(trial, "web", "n2", added=True)
    assert asked.verdicts(trial) == ["Success"] * 4


def test_a_cycle_looks_at_no_pods():
    constraints = constraint(), constraint(when="ScheduleAnyway")
    p = pod("p", labels={"app": "web"}, spec=spread(*constraints))
    asked = PluginRun(
        "PodTopologySpread", [*NODES, pod("web", node="n2", labels={"app": "web"}), p]
    )
    asked.run.snapshot.pods = Forbidden()
    assert asked.pre_filter().verdicts() == ["Success", "Success", "Unschedulable", "Success"]
    assert asked.made.pre_score(asked.state, asked.pod, asked.nodes).is_success
    raw = asked.made.score_nodes(asked.state, asked.pod, asked.nodes)
    assert raw.tolist() == [0, 0, 2, 0]
    found = asked.made.normalize_scores(asked.state, asked.pod, asked.nodes, raw)
    assert found.tolist() == [100, 100, 0, 100]


def test_without_prefilter_the_plugin_says_what_is_missing():
    asked = PluginRun("PodTopologySpread", [*NODES, pod("p")])
    status = asked.made.remove_pod(
        asked.state, asked.pod, asked.pod, NodeInfo(asked.run.snapshot, 0)
    )
    assert status.message == 'reading "PreFilterPodTopologySpread" from cycleState: not found'


@given(
    count=st.integers(1, 12),
    skew=st.integers(1, 3),
    zones=st.lists(st.sampled_from("abc"), min_size=1, max_size=5),
)
def test_zones_never_differ_by_more_than_max_skew(count, skew, zones):
    nodes = [node(f"n{i}", labels={"zone": zone}) for i, zone in enumerate(zones)]
    looks = {"labels": {"app": "web"}, "spec": spread(constraint(skew=skew))}
    run = simulate(cluster(*nodes, *(pod(f"p{i:02}", **looks) for i in range(count))))
    placed = dict.fromkeys(zones, 0)
    for name in run.placements.values():
        placed[zones[int(name[1:])]] += 1
    assert not run.pending
    assert max(placed.values()) - min(placed.values()) <= skew


def details(state, point):
    """Node → the lines that explain PodTopologySpread's word on it."""
    found = explanation(state, pod="p")
    if point == "score":
        return {
            one.node: list(one.scores["PodTopologySpread"].details)
            for one in found.nodes
            if "PodTopologySpread" in one.scores
        }
    return {one.node: [d for r in one.rejections for d in r.details] for one in found.nodes}


def webs(*names):
    return [pod(f"w{i}", node=name, labels={"app": "web"}) for i, name in enumerate(names)]


def test_explain_names_the_counts_of_the_domains():
    p = pod("p", labels={"app": "web"}, spec=spread(constraint()))
    found = details(cluster(*NODES, *webs("n0", "n1", "n1", "n2"), p), "filter")
    said = (
        "zone a has 3 pods with app=web, 4 with this one; c has 0; max skew 1. All: c 0, b 1, a 3"
    )
    assert found["n0"] == found["n1"] == [said]
    assert found["n2"][0].startswith("zone b has 1 pod with app=web, 2 with this one; c has 0")
    assert found["n3"] == []


def test_explain_says_when_there_are_too_few_domains():
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(minDomains=5)))
    found = details(cluster(*NODES, *webs("n0", "n2", "n3"), p), "filter")
    assert found["n0"] == [
        "zone a has 1 pod with app=web, 2 with this one; with 3 domains of at least 5 the fewest "
        "counts as 0; max skew 1. All: a 1, b 1, c 1"
    ]


def test_explain_says_which_label_the_node_lacks():
    p = pod("p", spec=spread(constraint(key="rack")))
    assert details(cluster(*NODES, p), "filter")["n3"] == ["the node has no label rack"]


def test_explain_gives_the_range_where_there_are_many_domains():
    nodes = [node(f"n{i}", labels={"host": f"h{i}"}) for i in range(12)]
    p = pod("p", labels={"app": "web"}, spec=spread(constraint(key="host")))
    found = details(cluster(*nodes, *webs("n0", "n0"), p), "filter")
    assert found["n0"][0].endswith("max skew 1. All: 12 domains, 0 to 2 each")


def test_explain_shows_where_a_score_comes_from():
    soft = constraint(key="rack", skew=3, when="ScheduleAnyway")
    found = details(cluster(*NODES, *webs("n0", "n2", "n1"), pod("p", spec=spread(soft))), "score")
    assert found["n0"] == ["rack r1 has 2 pods with app=web: 2 x 1.386 + 2, fewer is better"]
    lacking = "the node lacks a label that the pod is to be spread by: scored as the worst"
    assert found["n3"] == [lacking]
