"""What a change did, as lines."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.change_record import ChangeRecord, Effect


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect("n1", "cordoned"), "n1: cordoned"),
        (Effect("web/a", "pending again", "was on n1"), "web/a: pending again (was on n1)"),
    ],
)
def test_an_effect_is_a_line_with_its_detail_in_brackets(effect: Effect, text: str) -> None:
    assert effect.text == text


def test_a_change_did_a_line_for_every_effect_in_order() -> None:
    effects = (Effect("n1", "cordoned"), Effect("a", "deleted", "was pending"))
    record = ChangeRecord("drain n1", effects)
    assert record.did == ("n1: cordoned", "a: deleted (was pending)")
