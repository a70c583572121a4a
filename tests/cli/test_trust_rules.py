"""A project's rules do nothing before `hostbridge trust`, and then only those bytes."""

import pytest
from trustworld import agree

from bridge.rules.compiled import compile_rules

pytestmark = pytest.mark.slow

RULES = "on_stop: [{name: one, when: depth, block: x}]\n"


@pytest.fixture
def file(project):
    return project.write(".bridge/rules.yaml", RULES)


def in_force(project):
    settings, store = project.bridge.settings, project.bridge.store
    files = compile_rules(settings, store)
    return [rule.name for f in files if f.layer == "project" for rule in f.rules]


@pytest.mark.usefixtures("file")
def test_before_trust_nothing_happens(project):
    assert in_force(project) == []
    assert not (project.state / "rules" / "Stop").exists()


def test_trust_shows_the_rules_as_they_are_written(project, file):
    terminal = agree(project)

    assert f"rules: {file}  (new)\n    {RULES}" in terminal.seen
    assert "Trust this one?" in terminal.seen
    assert in_force(project) == ["one"]
    assert (project.state / "rules" / "Stop").exists()


@pytest.mark.parametrize("change", ["edited", "half written", "gone"])
def test_a_change_leaves_the_trusted_rules_in_force(project, file, change):
    agree(project)

    if change == "gone":
        file.unlink()
    else:
        file.write_text(RULES.replace("one", "two") if change == "edited" else "a: [")

    assert in_force(project) == ["one"]
    assert ("trusted as they are" in project.run("trust").out) is False


def test_a_change_is_in_force_once_it_is_trusted(project, file):
    agree(project)
    file.write_text(RULES.replace("one", "two"))
    agree(project)

    assert in_force(project) == ["two"]


def test_trust_shows_the_lines_that_changed(project, file):
    kept = "".join(f"# line {number}\n" for number in range(20))
    file.write_text(RULES + kept)
    agree(project)
    file.write_text(RULES + kept + "on_user_prompt: [{name: two, block: y}]\n")

    seen = agree(project).seen

    assert f"rules: {file}  (changed since you trusted it)\nwhat has changed:\n" in seen
    assert "\n    +on_user_prompt: [{name: two, block: y}]\n" in seen
    assert "line 10" not in seen
    assert f"the rest is as you trusted it: {file}\n" in seen


@pytest.mark.usefixtures("file")
def test_revoked_rules_are_gone(project):
    agree(project)
    project.run("trust", "--revoke")

    assert not (project.state / "rules" / "Stop").exists()
    assert in_force(project) == []


def test_error_broken_rules_cannot_be_trusted(project, file):
    file.write_text("on_stop: [{name: one, when: x y, block: x}]\n")

    ran = project.run("trust")

    ran.refuses(1, f"{file}:1:31: on_stop[0].when: nothing joins x and y")
    assert in_force(project) == []


def test_a_link_is_no_rules_file_of_a_project(project, file, tmp_path):
    (tmp_path / "elsewhere.yaml").write_text(RULES)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.yaml")

    project.run("trust").refuses(1, "is a link; a project must bring the file itself")
