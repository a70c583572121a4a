"""An agent on a route that we serve works in the folder that its request names."""

import pytest
from fakeclaude import fake_claude, printing, result
from gitworld import Repository
from servingworld import bridge_in

from bridge import worktrees
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.worker.executors import open_worker

GOOD = result(structured_output={"status": "success", "summary": "ok"})


@pytest.fixture
def here(tmp_path):
    claude = fake_claude(tmp_path / "bin", 'pwd >"$here/where"\n' + printing(GOOD))
    bridge = bridge_in(tmp_path, claude=str(claude), slots=1)
    Repository(tmp_path / "project")
    return bridge


def ask(here, folder):
    request = Request(request_id="r1", prompt="Do it.", route="claude", folder=folder)
    here.store.submit(request)
    open_worker(here.store, here.settings, "claude").serve(RequestId("r1"))
    return here.status(RequestId("r1")).response


def test_claude_works_in_the_worktree_with_the_projects_state(here, tmp_path):
    """Its hook is given that folder as the project, and the main one's state."""
    state = here.store.place.state
    folder = worktrees.folder_of(state, "run1", "dev")
    worktrees.create(tmp_path / "project", "hostbridge/run1/dev", folder)

    response = ask(here, str(folder))

    argv = (tmp_path / "bin" / "argv").read_text()
    assert response.error is None
    assert (tmp_path / "bin" / "where").read_text() == f"{folder}\n"
    assert f"Work in the folder {folder}," in (tmp_path / "bin" / "stdin").read_text()
    place = f'[\\"{folder}\\",\\"{state}\\"'
    assert place in argv or place.replace("\\", "") in argv


def test_error_a_folder_elsewhere_starts_nothing(here, tmp_path):
    response = ask(here, str(tmp_path))

    assert response.error.code == "bad_request"
    assert not (tmp_path / "bin" / "argv").exists()
