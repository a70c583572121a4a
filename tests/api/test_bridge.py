"""Opening the bridge of a project by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.errors import StateRefused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", [Bridge, AsyncBridge])
def test_error_a_missing_folder(
    kind: type[Bridge | AsyncBridge], tmp_path: Path
) -> None:
    """Otherwise it would look like a project without any requests."""
    gone = tmp_path / "gone"

    with pytest.raises(StateRefused) as caught:
        kind.open(str(gone))

    assert str(caught.value) == (
        f"{gone}: there is no such folder, so no project; give the path of a folder in "
        "the project"
    )


def test_a_folder_and_a_file_in_a_project(tmp_path: Path) -> None:
    """A program may pass its own folder, or its own file."""
    (tmp_path / ".git").mkdir()
    file = tmp_path / "tool.py"
    file.touch()

    opened = [Bridge.open(path) for path in (tmp_path, str(tmp_path), file)]

    assert {bridge.store.place.project for bridge in opened} == {tmp_path.resolve()}
