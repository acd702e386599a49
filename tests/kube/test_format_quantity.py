"""Amounts are shown in the units that people read them in."""

import pytest

from ksched_cli.kube.quantity import amount_text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 512, "512"),
        ("memory", 2 << 30, "2Gi"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", -(1 << 20), "-1Mi"),
        ("ephemeral-storage", 1 << 40, "1Ti"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("example.com/gpu", 2048, "2048"),
    ],
)
def test_an_amount_is_shown_in_the_unit_of_its_resource(
    resource: str, amount: int, text: str
) -> None:
    assert amount_text(resource, amount) == text
