"""`hostbridge trust`: shown and answered at a terminal, by nobody else."""

import pytest
from agentworld import define
from trustworld import GOOD, Terminal, agree, is_trusted

pytestmark = pytest.mark.slow

REFUSED = "hostbridge: there is no terminal to ask on; run this in one, yourself\n"


def test_it_shows_what_a_definition_would_do_and_asks(project):
    """All of it is in screens/trust.txt."""
    file = define(project, "worker.yaml", GOOD)

    seen = agree(project).seen

    head = f"{project.folder} brings definitions of agents:\n\nworker: Works  (new)\n"
    assert seen.startswith(f"{head}    file     {file}\n")
    _, _, end = seen.partition("\n\nprompt:\n    As told: {{ task }}\n\n")
    asked = "Trust this one? Type yes to agree: "
    assert end.replace("agree: yes", "agree: ") == (
        f"{asked}\n{project.folder}: 1 trusted\n"
    )
    assert is_trusted(project)


def test_error_a_record_that_cannot_be_written_is_named_before_the_question(project):
    define(project, "worker.yaml", GOOD)
    file = project.bridge.settings.home / "trust.json"
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_text('{"schemaVersion": 2}')

    refused = project.run("trust")

    assert refused.code == 1
    assert refused.err == f"hostbridge: {file}: schemaVersion 2; update hostbridge\n"


@pytest.mark.parametrize("answer", ["no\n", "\n", "y\n", "yes please\n", "\x04"])
def test_anything_but_yes_is_no(project, answer):
    define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")

    terminal.type(answer)

    assert terminal.end() == 1
    assert "nothing was changed; only the word yes agrees\n" in terminal.seen
    assert not is_trusted(project)


def test_what_was_typed_before_the_question_does_not_count(project):
    """A program that feeds a terminal blindly answers nothing."""
    define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust", early=b"yes\nyes\nyes\n")
    terminal.read_until("Type yes to agree: ")

    terminal.type("no\n")

    assert terminal.end() == 1
    assert not is_trusted(project)


@pytest.mark.parametrize("stdin", [b"", b"yes\n" * 9])
def test_error_a_pipe_cannot_answer(project, stdin):
    define(project, "worker.yaml", GOOD)

    assert project.run("trust", stdin=stdin, start_new_session=True) == (1, "", REFUSED)
    assert not is_trusted(project)


def test_a_change_while_one_reads_is_not_trusted(project):
    """Agreed to is what was shown."""
    file = define(project, "worker.yaml", GOOD)
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")

    file.write_text(GOOD.replace("pytest *", "*"))
    terminal.type("yes\n")

    assert terminal.end() == 0
    assert not is_trusted(project)
    file.write_text(GOOD)
    assert is_trusted(project)


def test_what_is_broken_is_shown_and_not_trusted(project):
    define(project, "worker.yaml", GOOD)
    define(project, "broken.yaml", "name: broken\ntols: 1\n")

    terminal = agree(project)

    first = "broken: cannot be used  (stays untrusted until it is corrected)\n"
    assert first in terminal.seen
    assert "tols: unknown field; did you mean 'tools'?" in terminal.seen
    assert is_trusted(project)


@pytest.mark.parametrize("others", ["none", "trusted"])
def test_error_only_broken_definitions_are_left_to_trust(project, others):
    """What to mend is said, with file and line; there is nothing to ask."""
    if others == "trusted":
        define(project, "worker.yaml", GOOD)
        agree(project)
    file = define(project, "broken.yaml", "name: broken\ntols: 1\n")

    project.run("trust").fails(
        1,
        f"{project.folder} brings definitions of agents:\n\n"
        "broken: cannot be used  (stays untrusted until it is corrected)\n"
        f"    {file}:2: tols: unknown field; did you mean 'tools'?",
    )
    assert is_trusted(project) == (others == "trusted")


def test_names_the_command_that_shows_every_problem(project):
    many = "".join(f"{'x' * 70}{number}: 1\n" for number in range(60))
    file = define(project, "worker.yaml", f"name: worker\n{many}")

    assert project.run("trust").err.endswith(" all of it: hostbridge trust --show\n")
    assert project.run("agents", "check", str(file)).out.count("unknown field") == 60


def test_list_and_revoke(project):
    define(project, "worker.yaml", GOOD)
    agree(project)

    listed = project.run("trust", "--list")
    again = project.run("trust")
    revoked = project.run("trust", "--revoke")

    listed.prints(0, f"{project.folder}\n  .bridge/agents/worker.yaml\n")
    again.prints(0, f"{project.folder}: 1 definition, trusted already\n")
    revoked.prints(0, f"{project.folder}: no longer trusted\n")
    assert not is_trusted(project)
    assert project.run("trust", "--list") == (0, "no project is trusted\n", "")


def test_list_says_what_has_changed_since(project):
    """What is listed counts, or says why not."""
    for name in ("gone", "kept", "other", "worker"):
        define(project, f"{name}.yaml", GOOD.replace("worker", name))
    agree(project)
    folder = project.folder / ".bridge" / "agents"
    (folder / "gone.yaml").unlink()
    (folder / "worker.yaml").write_text(GOOD + "timeout: 3\n")
    (folder / "other.yaml").unlink()
    (folder / "other.yaml").symlink_to("kept.yaml")

    project.run("trust", "--list").prints(
        0,
        f"{project.folder}\n  .bridge/agents/gone.yaml  (gone since; not trusted)\n"
        "  .bridge/agents/kept.yaml\n"
        "  .bridge/agents/other.yaml  (changed since; not trusted)\n"
        "  .bridge/agents/worker.yaml  (changed since; not trusted)\n",
    )


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("researcher", "hides the built-in agent of this name"),
        ("mine", "hides the user agent of this name"),
        ("Explore", "hides Claude Code's agent of this name"),
    ],
)
def test_it_says_what_a_definition_hides(project, name, mark):
    """Whoever asks for a name they know gets another agent from then on."""
    define(project, "mine.yaml", GOOD.replace("worker", "mine"), layer="user")
    define(project, f"{name}.yaml", GOOD.replace("worker", name))

    terminal = agree(project)

    assert f"\n{name}: Works  (new)  ({mark})\n" in terminal.seen


def test_nothing_to_trust(project):
    nothing = f"{project.folder} defines no agents, and no rules\n"
    project.run("trust").prints(0, nothing)
