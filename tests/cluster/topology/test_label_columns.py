"""Labels as codes per node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import MISSING, LabelColumns
from ksched_cli.testing import cluster, node

ZONES = st.lists(st.sampled_from([None, "", "a", "b", "c"]), min_size=1, max_size=6)


def columns(zones: list[str | None]) -> LabelColumns:
    labels = [{} if zone is None else {"zone": zone} for zone in zones]
    return LabelColumns(cluster(*(node(f"n{i}", labels=own) for i, own in enumerate(labels))).nodes)


@given(ZONES)
def test_a_code_leads_back_to_the_value_and_missing_to_the_end(zones: list[str | None]) -> None:
    column = columns(zones)["zone"]
    table = (*column.values, None)
    assert [table[code] for code in column.codes] == zones
    assert column.present.tolist() == [zone is not None for zone in zones]
    assert {value: column.values[code] for value, code in column.index.items()} == {
        value: value for value in column.values
    }


@given(ZONES, st.lists(st.sampled_from(["", "a", "b", "z"]), max_size=4))
def test_isin_is_whether_the_value_is_in_the_list(
    zones: list[str | None], values: list[str]
) -> None:
    assert columns(zones)["zone"].isin(values).tolist() == [zone in values for zone in zones]


def test_a_label_that_no_node_has_is_missing_everywhere() -> None:
    column = columns(["a", "b"])["rack"]
    assert (column.codes.tolist(), column.values) == ([MISSING, MISSING], ())


def test_a_column_is_made_once() -> None:
    labels = columns(["a"])
    assert labels["zone"] is labels["zone"]
