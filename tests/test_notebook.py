"""docs/notebook.ipynb runs as it stands and shows what it says. `.ci/lint` checks its types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

nbformat: Any = pytest.importorskip("nbformat", reason="the extra dev executes notebooks")
nbclient: Any = pytest.importorskip("nbclient", reason="the extra dev executes notebooks")

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, Any]]:
    """What each cell of code shows, by kind."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # The kernel takes its environment from here, where the tests' variables are.
    client = nbclient.NotebookClient(
        notebook, timeout=None, resources={"metadata": {"path": NOTEBOOK.parent}}
    )
    client.execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [len(cell.outputs) for cell in cells] == [1] * len(cells)
    return [cell.outputs[0]["data"] for cell in cells]


def test_it_goes_from_a_dump_to_a_plot(outputs: list[dict[str, Any]]) -> None:
    assert len(outputs) == 8
    first, nodes, cause, comparison, runs, waits, bars, day = outputs
    assert "1 of 4 pods stays pending" in first["text/html"]
    assert "1 of 4 pods stays pending" in first["text/markdown"]
    assert "birch" in nodes["text/plain"]
    assert "requests cpu 12" in cause["text/plain"]
    assert "default/web-1" in comparison["text/plain"]
    assert "Fullest" in comparison["text/plain"]
    assert runs["text/plain"].count("[Fullest]") == 3
    assert waits["text/plain"].splitlines()[3].split() == ["ml/training-1", "190.0"]
    assert "linear-gradient" in bars["text/html"]
    assert "8 pods placed in 1d 1h of simulated time" in day["text/markdown"]
    assert "Over time" in day["text/html"]


def test_it_is_stored_without_what_it_showed() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert not any(cell.outputs for cell in cells if cell.cell_type == "code")
