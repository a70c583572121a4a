"""`hostbridge run --dry-run`: whom a flow would ask, with answers from a file."""

import json

import pytest

G = "general-purpose"


def test_a_dry_run_asks_nobody(project, tmp_path):
    source = f'{G}:"a":x -> @ok:"Fine? {{x}}" (if failed)~> Explore:"b {{x}}"'
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"general-purpose": "one", "ok": "no"}))

    ran = project.run("run", project.flow(source), "--dry-run", str(answers))

    assert ran.out == (
        "node-0  general-purpose\n    a\n  says: one\n"
        "node-1  ok\n    Fine? one\n  says: no\n"
        "node-3  Explore\n    b one\n  says: (nothing: the file has no answer)\n"
    )
    assert "it would end well; nobody was asked" in ran.err
    assert not (project.state / "runs").exists()


def test_a_dry_run_shows_what_a_called_flow_is_given_and_why_it_would_fail(project):
    project.flow(f'{G}:"Look at {{{{what}}}}"', "other.flow")
    name = project.flow(f'@call:other(what="src"):x -> {G}:"b {{x}}"')
    answers = 'other: seen\ngeneral-purpose: {status: failed, summary: "too late"}'
    (project.folder / "answers.yaml").write_text(answers)

    ran = project.run("run", name, "--dry-run", "answers.yaml")

    assert ran.out == (
        "node-0  other\n    what=src\n  says: seen\n"
        "node-1  general-purpose\n    b seen\n  says: failed: too late\n"
    )
    assert "it would fail: node-1: agent_failed: too late; nobody" in ran.err


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ("ok: false", "it would fail: node-0: a person said no; nobody was asked"),
        ("ok: no", "answers.yaml:1:1: ok: no: quote it if it is text"),
        ("ok: stop", "it would fail: node-0: a person said no; nobody was asked"),
        ("ok: nein", "'nein' is neither yes nor no, and node-0 waits for one: say "),
        ("ok: 1", "'1' is neither yes nor no, and node-0 waits for one: say yes, "),
        ("ok: true", "it would end well"),
        ("okay: x", "no agent is called 'okay' in this flow; did you mean 'ok'?"),
        ("", "it would end well"),
    ],
)
def test_the_answers_of_a_dry_run_mean_what_they_say(project, answers, said):
    (project.folder / "answers.yaml").write_text(answers)

    ran = project.run("run", project.flow('@ok:"Fine?"'), "--dry-run", "answers.yaml")

    assert said in ran.err


@pytest.mark.parametrize("source", ["@review -> {}", "{} -> @review", "[@review]"])
def test_a_no_at_a_bare_label_is_obeyed(project, source):
    """It loads, and asks: the flow does not go past it."""
    (project.folder / "answers.yaml").write_text('review: "no, later"')
    name = project.flow(source.format('general-purpose:"Mend"'))

    ran = project.run("run", name, "--dry-run", "answers.yaml")

    assert ran.code == 1
    assert ": a person said no: no, later; nobody was asked" in ran.err
