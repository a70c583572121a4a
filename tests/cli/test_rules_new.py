"""`hostbridge rules new` and `rules check FILE`: from no rules to one's first."""

import re

import pytest

from bridge.cli.definitions.rules_new import TEXT


def without_marks(text):
    """The file with every rule in it switched on."""
    return re.sub(r"(?m)^# (?=[ a-z])(?!    hostbridge)", "", text)


@pytest.mark.parametrize("more", [[], ["--project"]], ids=["user", "project"])
def test_it_writes_a_file_that_has_no_rules_yet(project, more):
    ran = project.run("rules", "new", *more, env={"CLAUDECODE": "1"})

    folder = project.folder / ".bridge" if more else project.bridge.settings.home
    file = folder / "rules.yaml"
    trust = "  hostbridge trust\n" if more else ""
    assert ran.out == f"{file}\nedit it, then:\n  hostbridge rules check\n{trust}"
    assert file.read_text() == TEXT
    checked = project.run("rules", "check", str(file))
    checked.tells(0, "0 rules in 1 file: 0 errors, 0 warnings\n")


def test_every_rule_in_it_works(project):
    file = project.folder / "rules.yaml"
    file.write_text(without_marks(TEXT))

    checked = project.run("rules", "check", "rules.yaml")
    checked.prints(0, "4 rules in 1 file: 0 errors, 0 warnings\n")
    project.run("rules", "new")
    (project.bridge.settings.home / "rules.yaml").write_text(file.read_text())
    for words, answer in [
        (["--command", "git push"], "Ask before you push."),
        (["--file", "a.lock"], "a.lock is not edited by hand."),
        (["--command", "pytest"], "validation-runner is asked in place of the call"),
        (["--event", "on_session_start"], "Tests are run with `make test`."),
    ]:
        assert answer in project.run("rules", "test", *words).out


def test_error_a_folder_is_no_file(project):
    project.run("rules", "check", ".").tells(1, "not a plain file")


def test_error_a_file_that_is_there_stays(project):
    project.run("rules", "new")
    file = project.bridge.settings.home / "rules.yaml"
    file.write_text("on_stop: []")

    ran = project.run("rules", "new")

    assert (ran.code, file.read_text()) == (2, "on_stop: []")
    assert f"{file} is there already, and stays as it is" in ran.err


def test_a_file_is_checked_before_it_is_put_in_place(project):
    """A project's is read as one: it cannot set a variable of yours."""
    project.run("rules", "new")
    (project.bridge.settings.home / "rules.yaml").write_text("variables: {mine: 1}")
    text = "variables: {mine: 2}\non_stop: [{when: mine and oops, block: x}]"
    project.write("new.yaml", text)
    project.write("other/.bridge/rules.yaml", text)

    mine = project.run("rules", "check", "new.yaml")
    theirs = project.run("rules", "check", "other/.bridge/rules.yaml")

    assert (mine.code, theirs.code) == (1, 1)
    assert f"{project.folder}/new.yaml:2:27: on_stop[0].when: unknown name" in mine.out
    assert mine.out.endswith("1 rule in 1 file: 1 error, 0 warnings\n")
    assert "your own rules.yaml sets this variable" in theirs.out
    assert "not trusted" not in theirs.out
