"""Every example does what it shows, and is short."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_scripts_are_short(path: Path) -> None:
    """A script that shows how to begin has fewer than 60 lines."""
    assert len(path.read_text("utf-8").splitlines()) < 60


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Every cell of the quickstart runs, in an empty directory."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(notebook, timeout=600, resources=resources).execute()
    printed = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(printed) >= 5
