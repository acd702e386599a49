"""Names of the plugin contract that were changed work for one more release, with a warning."""

from typing import Any, cast

import pytest

from ksched_cli import api
from ksched_cli.cluster.snapshot import PodWatcher
from ksched_cli.framework.deprecation import RENAMED
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.testing import cluster, find, node, pod, simulation


@pytest.mark.parametrize("old", RENAMED)
def test_a_member_by_its_old_name_takes_effect_under_the_new_one(old: str) -> None:
    with pytest.warns(FutureWarning, match=f"Older.{old} is now {RENAMED[old]}"):
        older = type("Older", (api.NormalizeScore,), {old: "mine", "name": "Older"})
    assert getattr(older, RENAMED[old]) == "mine"


def test_the_new_name_is_not_overwritten() -> None:
    both = {"depends_on": "old", "scope_for": "new", "name": "Both"}
    assert vars(type("Both", (api.Plugin,), both))["scope_for"] == "new"


def test_node_is_nodeinfo() -> None:
    with pytest.warns(FutureWarning, match="api.NodeInfo"):
        assert api.Node is NodeInfo


def test_take_is_gather() -> None:
    snapshot = simulation(cluster(node("a"))).snapshot
    with pytest.warns(FutureWarning, match=r"Nodes\.gather"):
        assert Nodes(snapshot).take(snapshot.pod_count).tolist() == [0]


def test_the_shared_dict_is_one_for_all_profiles() -> None:
    profiles = [{"schedulerName": "one"}, {"schedulerName": "two"}]
    run = simulation(cluster(node("a")), {"profiles": profiles})
    first, second = (run.frameworks[name].handle for name in ("one", "two"))
    with pytest.warns(FutureWarning, match=r"Handle\.service\(factory\)"):
        first.shared["key"] = "value"
    with pytest.warns(FutureWarning, match=r"Handle\.shared"):
        assert second.shared == {"key": "value"}


def test_who_appends_to_the_watchers_is_told_of_pods() -> None:
    class Watcher:
        rows: tuple[int, ...] = ()

        def pod_added(self, pod: Any, row: Any) -> None:
            self.rows += (row,)

    watcher = Watcher()
    run = simulation(cluster(node("a"), pod("p")))
    with pytest.warns(FutureWarning, match=r"Snapshot\.subscribe"):
        run.snapshot.watchers.append(cast(PodWatcher, watcher))
    run.snapshot.add(find(run), 0)
    assert watcher.rows == (0,)
