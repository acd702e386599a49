"""What the plugins and profiles of a run share through their handles."""

from ksched_cli.framework.handle import Handle
from ksched_cli.testing import cluster, node, simulation

PROFILES = {"profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}


class Counter:
    def __init__(self, handle: Handle) -> None:
        self.nodes = len(handle.snapshot)


def handles() -> list[Handle]:
    run = simulation(cluster(node("a"), node("b")), PROFILES)
    return [run.frameworks[name].handle for name in ("one", "two")]


def test_a_service_is_one_object_for_all_profiles_of_a_run() -> None:
    first, second = handles()
    counter = first.service(Counter)
    assert (counter.nodes, second.service(Counter) is counter) == (2, True)


def test_another_run_has_a_service_of_its_own() -> None:
    first, second = handles()[0], handles()[0]
    assert first.service(Counter) is not second.service(Counter)


def test_each_factory_has_a_result_of_its_own() -> None:
    handle = handles()[0]
    assert handle.service(lambda handle: "by a function") == "by a function"
    assert isinstance(handle.service(Counter), Counter)
