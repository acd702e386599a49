"""The claim for a pod's extended resources, per node."""

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.plugins.dynamic_resources.search import ExtendedSearch, claim_for
from ksched_cli.testing import cluster, find, node
from tests.narrowing import present
from tests.plugins.dynamic_resources.test_extended import BACKING, GPU, TWO_DEVICES, requesting


def test_nodes_without_the_resource_need_devices_and_others_do_not() -> None:
    registry = registry_of(release_of("1.36"))
    nodes = (node("l"), node("m", resources={GPU: "1"}), node("n"))
    state = cluster(*nodes, BACKING, TWO_DEVICES, requesting("p", {GPU: "1"}))
    run = Simulation(state, load_configuration(None, "", registry), registry, Options())
    handle, pod = run.frameworks["default-scheduler"].handle, find(run, "p")
    assert handle.service(ClaimStore).extended_claim(pod) is None
    search = ExtendedSearch(handle, pod, [], claim_for(pod), 0.0, False)
    verdicts = search.verdicts(Nodes(run.snapshot))
    fits = [verdicts.statuses[status].is_success for status in verdicts.ids]
    assert fits == [False, True, True]
    assert search.allocations(1) is None
    (allocation,) = present(search.allocations(2))
    assert [result.device for result in allocation.devices.results] == ["a"]
    assert (search.has_mappings(1), search.has_mappings(2)) == (False, True)
    (request,) = search.claim_on(2).spec.devices.requests
    assert request.name == "container-0-request-0"
    assert not search.is_stale
