"""What --price takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.scenario.prices import Price, read_prices


def test_names_labels_and_files_are_taken_in_order(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "apiVersion: ksched/v1\nkind: Prices\nprices:\n"
        "- nodeSelector: {pool: gpu, zone: a}\n"
        "  price: {perHour: 4, minimumBilling: 90s, spotShare: 0.5, spotPerHour: 1}\n"
        "- {node: 'n-*', price: 0.25}\n"
    )
    prices = read_prices(["n-1=0.5", "pool=cpu=1", str(file)])
    assert [(each.name, each.price) for each in prices.listed] == [
        ("n-1", Price(0.5)),
        ("pool=cpu", Price(1)),
        ("pool=gpu,zone=a", Price(2.5, 90_000_000)),
        ("n-*", Price(0.25)),
    ]


@pytest.mark.parametrize("text", ["n=", "n=dear", "n=-1", "n=inf", "n=nan", "=1", "==1"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--price takes NODE=N, LABEL=VALUE=N or a file"):
        read_prices([text])


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{node: x, price: -1}", "-1 is less than 0"),
        ("{price: 1}", "node"),
        ("{node: x, price: {perHour: 1, spotShare: 0.5}}", "require each other"),
        ("{node: x, price: {perHour: 1, minimumBilling: soon}}", "expected a time"),
    ],
)
def test_errors_of_a_file_have_their_place(tmp_path: Path, entry: str, problem: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(f"apiVersion: ksched/v1\nkind: Prices\nprices:\n- {entry}\n")
    with pytest.raises(InputError, match=problem) as caught:
        read_prices([str(file)])
    assert caught.value.position is not None
    assert caught.value.position.line == 4
