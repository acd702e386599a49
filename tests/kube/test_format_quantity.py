"""Amounts are shown in the units that people read them in."""

import pytest

from ksched_cli.kube.quantity import amount_text, amount_texts, rounded_down


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


@pytest.mark.parametrize(
    ("amounts", "written", "texts"),
    [
        (((8 << 30) + 1, 8 << 30), "8589934593", ["8Gi and 1 byte", "8Gi"]),
        (((8 << 30) + 1, (8 << 30) - 1), "8589934593", ["8Gi and 1 byte", "8Gi less 1 byte"]),
        (((8 << 30) - 1, 4 << 30), "8589934591", ["8Gi less 1 byte", "4Gi"]),
        (((8 << 30) + 1024, 8 << 30), "8388609Ki", ["8388609Ki", "8Gi"]),
        ((8_500_000_000, 4 << 30), "8500M", ["8500M", "4Gi"]),
        ((8_500_000_001, 4 << 30), "8500000001", ["7.9Gi", "4Gi"]),
        ((3 << 29, 1 << 30), "1536Mi", ["1.5Gi", "1Gi"]),
        (((32 << 30) - 1, 32 << 30), "", ["32Gi less 1 byte", "32Gi"]),
        ((32 << 30, 32 << 30), "", ["32Gi", "32Gi"]),
        (((5 << 30) + 4096, 5 << 30), "", ["5Gi and 4Ki", "5Gi"]),
        ((8_165_257_217, 8_165_257_218), "", ["7973884Ki and 1 byte", "7973884Ki and 2 bytes"]),
    ],
)
def test_different_amounts_beside_each_other_never_read_alike(
    amounts: tuple[int, int], written: str, texts: list[str]
) -> None:
    assert amount_texts("memory", amounts, written) == texts


@pytest.mark.parametrize(
    ("resource", "amount", "rounded"),
    [
        ("memory", (8 << 30) - 1, 8191 << 20),
        ("memory", (1 << 20) - 1, 1023 << 10),
        ("memory", 1000, 1000),
        ("cpu", 1999, 1999),
    ],
)
def test_a_limit_is_rounded_down_to_what_a_person_writes(
    resource: str, amount: int, rounded: int
) -> None:
    assert rounded_down(resource, amount) == rounded
