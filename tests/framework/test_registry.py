"""The registry of plugins: what an entry tells without its module being imported."""

import subprocess
import sys
from typing import ClassVar

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import FilterPlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins import IN_TREE
from ksched_cli.plugins.node_name import NodeName
from tests.framework.toys import NO_HANDLE, Toy


class Limited(Toy, FilterPlugin):
    name = "Limited"
    args: ClassVar[dict[str, object]] = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "minimum": 1}},
    }
    reads = ("PodGroup.scheduling.x-k8s.io",)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS


ENTRY = PluginEntry.of(Limited, "limited 1.0")


def test_an_entry_of_a_class_has_its_name_points_and_origin() -> None:
    assert (ENTRY.name, ENTRY.origin) == ("Limited", "limited 1.0")
    assert ENTRY.points == {"filter"}
    assert ENTRY.is_foreign
    assert not ENTRY.enabled_by_default
    assert ENTRY.load() is Limited


def test_args_of_a_foreign_plugin_are_checked_by_its_schema() -> None:
    assert ENTRY.check_args({"limit": 1}) == ()
    (error,) = ENTRY.check_args({"limit": 0})
    assert error.path == "limit"


def test_an_entry_makes_its_plugin() -> None:
    assert isinstance(ENTRY.make({"limit": 1}, NO_HANDLE), Limited)


def test_an_in_tree_entry_loads_its_class_from_its_module() -> None:
    entry = Registry(IN_TREE)["NodeName"]
    assert (entry.is_foreign, entry.enabled_by_default) == (False, True)
    assert entry.load() is NodeName


def test_a_registry_keeps_the_order_and_knows_what_its_plugins_read() -> None:
    registry = Registry((*IN_TREE, ENTRY))
    assert list(registry) == [*(entry.name for entry in IN_TREE), "Limited"]
    assert len(registry) == len(IN_TREE) + 1
    assert registry.reads == {"PodGroup.scheduling.x-k8s.io"}


def test_the_table_of_in_tree_plugins_imports_no_numpy() -> None:
    code = "import sys, ksched_cli.plugins; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
