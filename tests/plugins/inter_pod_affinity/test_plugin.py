"""What cases alone do not show of InterPodAffinity: trials, what it looks at, what it explains."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.testing import cluster, explanation, node, pod, scores
from trials import Forbidden, PluginRun, moved

NODES = [
    node("n0", labels={"zone": "a", "rack": "r1"}),
    node("n1", labels={"zone": "a", "rack": "r2"}),
    node("n2", labels={"zone": "b", "rack": "r1"}),
    node("n3"),
]
NAMES = [one["metadata"]["name"] for one in NODES]
TERM = st.builds(
    lambda key, app: {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}},
    st.sampled_from(("zone", "rack")),
    st.sampled_from("xy"),
)
TERMS = st.lists(TERM, max_size=2)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(wanted=(), unwanted=()):
    return {"podAffinity": {REQUIRED: list(wanted)}, "podAntiAffinity": {REQUIRED: list(unwanted)}}


LOOK = st.builds(
    lambda app, wanted, unwanted: {"labels": {"app": app}, "affinity": affinity(wanted, unwanted)},
    st.sampled_from("xyz"),
    TERMS,
    TERMS,
)
FAR_FROM_WEB = affinity(
    unwanted=[{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]
)
NEAR_WEB = affinity([{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}])


@given(
    running=st.lists(LOOK, max_size=5),
    mover=LOOK,
    asking=LOOK,
    place=st.sampled_from(NAMES),
    leaves=st.booleans(),
)
def test_following_a_pod_gives_what_asking_anew_gives(running, mover, asking, place, leaves):
    pods = [pod(f"b{i}", node=NAMES[i % 4], **look) for i, look in enumerate(running)]
    # The lone pod's term keeps the plugin from leaving itself out of either question.
    lone = affinity(unwanted=[{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["blue"]}])
    asking = asking if any(map(_required, asking["affinity"].values())) else {"affinity": lone}
    manifests = [*NODES, *pods, pod("mover", node=place, **mover), pod("p", **asking)]
    there = PluginRun("InterPodAffinity", manifests).pre_filter()
    gone = PluginRun("InterPodAffinity", moved(manifests, "mover", "")).pre_filter()
    before, after = (there, gone) if leaves else (gone, there)
    untouched = before.verdicts()
    trial = before.state.clone()
    before.follow(trial, "mover", place, added=not leaves)
    assert before.verdicts(trial) == after.verdicts()
    assert before.verdicts() == untouched
    before.follow(trial, "mover", place, added=leaves)
    assert before.verdicts(trial) == untouched
    assert before.verdicts(rows=[3, 1]) == [untouched[3], untouched[1]]


def _required(rules):
    return rules[REQUIRED]


def test_the_first_of_a_group_is_no_longer_first_once_another_is_promised_a_place():
    manifests = [*NODES, pod("p", labels={"app": "web"}, affinity=NEAR_WEB), pod("other")]
    manifests += [pod("web", labels={"app": "web"})]
    asked = PluginRun("InterPodAffinity", manifests).pre_filter()
    assert asked.verdicts()[:3] == ["Success"] * 3
    trial = asked.state.clone()
    asked.follow(trial, "web", "n2", added=True)
    assert asked.verdicts(trial)[:3] == ["UnschedulableAndUnresolvable"] * 2 + ["Success"]


def test_a_cycle_looks_at_no_pods():
    liked = {"weight": 3, "podAffinityTerm": NEAR_WEB["podAffinity"][REQUIRED][0]}
    asking = {
        "podAffinity": {PREFERRED: [liked]},
        "podAntiAffinity": FAR_FROM_WEB["podAntiAffinity"],
    }
    manifests = [
        *NODES,
        pod("web", node="n0", labels={"app": "web"}, affinity=FAR_FROM_WEB),
        pod("p", affinity=asking),
    ]
    asked = PluginRun("InterPodAffinity", manifests)
    asked.run.snapshot.pods = Forbidden()
    assert asked.pre_filter().verdicts() == ["Unschedulable"] * 2 + ["Success"] * 2
    assert asked.made.pre_score(asked.state, asked.pod, asked.nodes).is_success
    raw = asked.made.score_nodes(asked.state, asked.pod, asked.nodes)
    assert raw.tolist() == [3, 3, 0, 0]
    assert asked.made.normalize_scores(asked.state, asked.pod, asked.nodes, raw)[0] == 100


def test_without_prefilter_the_plugin_says_what_is_missing():
    asked = PluginRun("InterPodAffinity", [*NODES, pod("p")])
    status = asked.made.add_pod(asked.state, asked.pod, asked.pod, NodeInfo(asked.run.snapshot, 0))
    said = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert status.message == said
    assert asked.state.data == CycleState().data


def test_profiles_weigh_the_same_counters_each_in_its_own_way():
    running = pod("b", node="n0", affinity=NEAR_WEB)
    state = cluster(*NODES, running, pod("p", labels={"app": "web"}))
    for weight in (2, 50):
        args = {"hardPodAffinityWeight": weight}
        found = scores("InterPodAffinity", state, args=args, normalized=False)
        assert found == {"n0": weight, "n1": weight, "n2": 0, "n3": 0}


def details(state, point):
    """Node → the lines that explain InterPodAffinity's word on it."""
    found = explanation(state, pod="p")
    if point == "score":
        return {
            one.node: list(one.scores["InterPodAffinity"].details)
            for one in found.nodes
            if "InterPodAffinity" in one.scores
        }
    return {one.node: [d for r in one.rejections for d in r.details] for one in found.nodes}


def test_explain_says_where_the_wanted_pods_are():
    web = pod("web", node="n2", labels={"app": "web"})
    found = details(cluster(*NODES, web, pod("p", affinity=NEAR_WEB)), "filter")
    assert found["n0"] == [
        "no pod with app=web in namespace default runs in zone=a; they run in b (1)"
    ]
    assert found["n2"] == []
    assert found["n3"] == ["the node has no label zone"]


def test_explain_says_that_nobody_is_wanted_anywhere():
    found = details(cluster(*NODES, pod("p", affinity=NEAR_WEB)), "filter")
    said = "no pod with app=web in namespace default runs in zone=a, nor in any other zone"
    assert found["n0"] == [said]


def test_explain_names_the_unwanted_pods():
    webs = [pod(f"web{i}", node="n0", labels={"app": "web"}) for i in range(5)]
    found = details(cluster(*NODES, *webs, pod("p", affinity=FAR_FROM_WEB)), "filter")
    names = "default/web0 on n0, default/web1 on n0, default/web2 on n0 and 2 more"
    said = f"pods with app=web in namespace default run in zone=a: {names}"
    assert found == {"n0": [said], "n1": [said], "n2": [], "n3": []}


def test_explain_names_the_running_pod_whose_anti_affinity_stands_in_the_way():
    lone = pod("lone", node="n0", affinity=FAR_FROM_WEB)
    bystander = pod("bystander", node="n0")
    asking = pod("p", labels={"app": "web"})
    found = details(cluster(*NODES, lone, bystander, asking), "filter")
    said = "pods that accept none with app=web in namespace default run in zone=a: "
    assert found["n1"] == [said + "default/lone on n0"]
    assert found["n2"] == []


def test_explain_adds_up_the_score():
    def preferring(kind, weight):
        one = {"weight": weight, "podAffinityTerm": NEAR_WEB["podAffinity"][REQUIRED][0]}
        return {kind: {PREFERRED: [one]}}

    running = [
        pod("web", node="n0", labels={"app": "web"}),
        pod("fan", node="n0", affinity=NEAR_WEB),
        pod("fan2", node="n1", affinity=NEAR_WEB),
        pod("shy", node="n2", affinity=preferring("podAntiAffinity", 9)),
    ]
    asking = pod("p", labels={"app": "web"}, affinity=preferring("podAffinity", 4))
    found = details(cluster(*NODES, *running, asking), "score")
    to_web = "app=web in namespace default"
    assert found["n1"] == [
        f"1 pod in zone=a with {to_web}, +4 each: +4",
        f"2 pods in zone=a with required affinity to {to_web}, +1 each: +2",
    ]
    assert found["n2"] == [f"1 pod in zone=b with preferred anti-affinity to {to_web}, -9 each: -9"]
    assert found["n3"] == []
