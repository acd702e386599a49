"""How full the nodes are."""

import pytest

from ksched_cli.analysis.usage import NodeUsage, resources_of
from ksched_cli.answers import plain
from ksched_cli.report.limit import EVERYTHING, TERMINAL, Limit
from ksched_cli.report.terminal import as_text
from ksched_cli.report.usage import nodes_table, resources_table
from ksched_cli.report.view import Table, View
from tests.report.schemas import squeezed

GIB = 1 << 30
DEVICE = "example.com/gpu"


def usage(name: str, cpu: int, pods: int, gpus: int | None = None) -> NodeUsage:
    """The usage of a node with four cores, 8 GiB and room for ten pods."""
    allocatable = {"cpu": 4000, "memory": 8 * GIB, "pods": 10}
    requested = {"cpu": cpu, "memory": cpu * GIB // 1000}
    if gpus is not None:
        allocatable[DEVICE], requested[DEVICE] = 2, gpus
    return NodeUsage(name, allocatable, requested, pods)


USAGES = [usage("a", 4000, 10, 2), usage("b", 0, 0), usage("c", 0, 0)]


def lines(section: Table, limit: Limit = TERMINAL) -> list[str]:
    return squeezed(as_text(View(title="t", sections=[section]), limit))[2:]


def test_sums_and_the_fullest_and_emptiest_nodes_are_listed_per_resource() -> None:
    assert lines(resources_table(USAGES)) == [
        "1 of 3 nodes used",
        "RESOURCE REQUESTED USED FULLEST EMPTIEST",
        "cpu 4 of 12 33% 100% a 0% b and 1 more",
        "memory 4Gi of 24Gi 17% 50% a 0% b and 1 more",
        "pods 10 of 30 33% 100% a 0% b and 1 more",
        "example.com/gpu 2 of 2 100% 100% a 100% a",
    ]


def test_a_narrow_terminal_leaves_out_the_emptiest_nodes_first() -> None:
    text = lines(resources_table(USAGES), Limit(50, 40))
    assert text[1] == "RESOURCE REQUESTED USED FULLEST"
    assert text[-1] == "not shown in 50 columns: Emptiest"
    whole = as_text(View(title="t", sections=[resources_table(USAGES)]), Limit(50, 40))
    assert max(map(len, whole.splitlines())) <= 50


@pytest.mark.parametrize(
    ("milli", "share"), [(0, "0%"), (1, "<1%"), (3999, "99%"), (4000, "100%"), (4001, "101%")]
)
def test_all_and_nothing_are_exact(milli: int, share: str) -> None:
    row = lines(nodes_table([usage("a", milli, 0)]), EVERYTHING)[2]
    assert row.split()[4] == share


def test_every_node_has_a_row_also_without_a_resource() -> None:
    rows = lines(nodes_table(USAGES), EVERYTHING)
    assert rows[1] == "NODE CPU % MEMORY % PODS % EXAMPLE.COM/GPU %"
    assert rows[2] == "a 4 of 4 100% 4Gi of 8Gi 50% 10 of 10 100% 2 of 2 100%"
    assert rows[3] == "b 0 of 4 0% 0 of 8Gi 0% 0 of 10 0%"


def test_amounts_in_data_are_quantities_with_bytes_in_full() -> None:
    (fields,) = map(plain, resources_of([usage("a", 1500, 3)]))
    assert fields == {
        "name": "a",
        "allocatable": {"cpu": "4", "memory": str(8 * GIB), "pods": "10"},
        "requested": {"cpu": "1500m", "memory": str(1500 * GIB // 1000)},
        "pods": 3,
    }
