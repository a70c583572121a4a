"""`hostbridge agents new`: a definition that works as it is written, once."""

import os

import pytest
from agentworld import trust_project

pytestmark = pytest.mark.slow

ANSWER = b'{"status": "success", "summary": "ok"}'


@pytest.mark.parametrize("more", [[], ["--markdown"]], ids=["yaml", "markdown"])
@pytest.mark.parametrize("name", ["release-notes", "on", "1.0"])
def test_it_loads_and_can_be_asked(project, request, name, more):
    ran = project.run("agents", "new", name, *more)

    folder = project.bridge.settings.home / "agents"
    file = folder / f"{name}{'.md' if more else '.yaml'}"
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [str(file), "edit it, then:"]
    assert project.run("agents", "check", str(file)).out == (
        "1 looked at: 0 errors, 0 warnings\n"
    )
    # Only now: this process is the session, below which none may be written.
    host = request.getfixturevalue("host")
    with host.serving(ANSWER.decode()) as seen:
        assert project.run("ask", name, "Why?").code == 0
    assert "from its files alone" in seen[0].spoken
    assert "Why?" in seen[0].spoken


def test_a_project_gets_one_that_waits_for_trust(project):
    """Also inside a session: it gives no rights before a person has agreed."""
    env = {"CLAUDECODE": "1"}
    ran = project.run("agents", "new", "notes", "--project", env=env)

    file = project.folder / ".bridge" / "agents" / "notes.yaml"
    assert ran.out == (
        f"{file}\nedit it, then:\n  hostbridge agents check {file}\n"
        "  hostbridge trust\n  hostbridge ask notes 'Which modules lack tests?'\n"
    )
    assert "which you have not trusted" in project.run("submit", "notes", "Hi").err
    trust_project(project.bridge)
    assert project.run("submit", "notes", "Hi").code == 0


def test_error_what_is_there_stays(project):
    file = project.bridge.settings.home / "agents" / "notes.md"
    file.parent.mkdir(parents=True, mode=0o700)
    file.symlink_to("/nowhere")

    project.run("agents", "new", "notes").fails(
        2,
        f"{file} is there already, and stays as it is; edit it, or choose another name",
    )
    assert os.listdir(file.parent) == ["notes.md"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a:b", "x" * 129])
def test_error_no_name(project, name):
    ran = project.run("agents", "new", name)

    ran.refuses(2, f"hostbridge: agent name {name!r}: expected letters, ")


def test_error_a_name_with_blanks(project):
    """It would have to be quoted for ever."""
    project.run("agents", "new", "Bad  Name").fails(
        2,
        "agent name 'Bad  Name': expected letters, digits and _ . -, such as bad-name",
    )


def test_error_a_link_out_of_the_project(project, tmp_path):
    """A clone could have brought it."""
    (tmp_path / "elsewhere").mkdir()
    (project.folder / ".bridge").symlink_to(tmp_path / "elsewhere")

    ran = project.run("agents", "new", "notes", "--project")

    assert (ran.code, ran.out) == (1, "")
    assert os.listdir(tmp_path / "elsewhere") == []
