from packing import Packing

from ksched_cli.testing import cluster, node, pod, scores, simulate, verdicts


def test_a_tenth_of_the_memory_stays_free() -> None:
    state = cluster(node("small", memory="1000"), node("large", memory="2000"), pod(memory="901"))
    statuses = verdicts(Packing, state)
    assert statuses["small"].reasons == ("node(s) had to keep memory free",)
    assert statuses["large"].is_success


def test_how_much_stays_free_is_an_arg() -> None:
    state = cluster(node("small", memory="1000"), pod(memory="901"))
    assert verdicts(Packing, state, args={"keepFreePercent": 0})["small"].is_success


def test_the_fullest_node_scores_best() -> None:
    running = pod("running", memory="500", node="a")
    state = cluster(node("a", memory="1000"), node("b", memory="1000"), running, pod("p"))
    assert scores(Packing, state, pod="p") == {"a": 50, "b": 0}


def test_a_node_without_memory_is_scored_too() -> None:
    state = cluster(node("a", memory="0"), node("b", memory="1000"), pod("p", memory="0"))
    assert scores(Packing, state, pod="p") == {"a": 0, "b": 0}


def test_a_whole_run() -> None:
    pods = [pod(f"p{i}", memory="300") for i in range(4)]
    run = simulate(cluster(node("n", memory="1000"), *pods), plugins=[Packing])
    assert len(run.placements) == 3
