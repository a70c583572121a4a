"""`hostbridge trust`, asked again: what has changed since the last yes."""

import os

import pytest
from agentworld import LINT, define
from trustworld import GOOD, Terminal, agree

from bridge.agents import trust
from bridge.cli.common.output import visible
from bridge.store.directory import Folder

pytestmark = pytest.mark.slow

MARKDOWN = "---\nname: worker\ndescription: Works\n---\nSay pytest.\n"
KEPT = "the rest is as you trusted it: hostbridge agents show worker\n"


def define_lint(project, script="'fine'\n"):
    """A definition with three scripts; returns its folder."""
    folder = define(project, "lint.yaml", LINT.replace("models/", "")).parent
    (folder / "tools").mkdir()
    for name in ("run", "submit", "config"):
        (folder / "tools" / f"{name}.pym").write_text(script)
    return folder


def kept(project):
    return project.bridge.settings.home / trust.FOLDER


def test_it_shows_the_lines_that_differ(project):
    """In place of the whole; screens/trust-again.txt has all of it."""
    file = define(project, "worker.yaml", GOOD)
    agree(project)
    file.write_text(GOOD.replace("pytest *", "make *"))

    shown = agree(project).seen

    lines = "    -allow: ['Bash(pytest *)']\n    +allow: ['Bash(make *)']\n     \n"
    assert f"{lines}{KEPT}\nTrust this one? Type yes to agree: " in shown
    assert "granted  Bash(make *)" in shown
    assert "\nprompt:\n" not in shown


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("\x1b[2K\rpytest", "\\u001b[2K\\u000dpytest"),
        ("\u202epytest", "\\u202epytest"),
        ("\r\npytest", "\\u000d\n    +pytest"),
        ("\udce9pytest", "\\udce9pytest"),
        ("\u00a0\t\U0001d159pytest", "\\u00a0\\u0009\\U0001d159pytest"),
        ("pytest \n", "+Say pytest\\u0020\n"),
    ],
    ids=["escape", "bidi", "carriage return", "not UTF-8", "blanks", "at the end"],
)
def test_what_a_terminal_obeys_is_visible(project, hidden, seen):
    """Also where nothing but the invisible has changed."""
    file = define(project, "worker.md", MARKDOWN)
    agree(project)
    text = file.read_text().replace("pytest", hidden)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    shown = agree(project).seen

    assert seen in shown.partition("what has changed:")[2]
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\r", "a\\u000d"),
        ("a\\\r", "a\\\\u000d"),
        ("\\\u202e", "\\\\u202e"),
        ("\U000e0001", "\\U000e0001"),
        ("\udce9", "\\udce9"),
        ("\\\\u000d", "\\u000d"),
        ("\\\\\r", "\\\r"),
    ],
)
def test_no_two_texts_look_the_same(one, other):
    """A real character and its escape, however many backslashes stand before it."""
    assert visible(one) != visible(other)
    assert "\r" not in visible(one)


def test_backslashes_that_begin_no_escape_stay_as_they_are():
    assert visible("C:\\Users\\u12 \\n") == "C:\\Users\\u12 \\n"


def test_an_escape_that_becomes_the_character_is_shown(project):
    """It ended a comment, and the difference was empty."""
    folder = define_lint(project, "# as before\\u000drun_command('make')\n")
    agree(project)
    (folder / "tools" / "run.pym").write_bytes(b"# as before\rrun_command('make')\n")

    shown = agree(project).seen

    assert "\n    -# as before\\\\u000drun_command('make')\n" in shown
    assert "\n    +# as before\\u000drun_command('make')\n" in shown


def test_padding_in_one_file_hides_no_other(project):
    """The files come by name; each is cut by itself."""
    folder = define_lint(project)
    agree(project)
    (folder / "tools" / "config.pym").write_text("# padding\n" * 900)
    (folder / "tools" / "run.pym").write_text("'worse'\n")

    whole = project.run("trust", "--show").out
    shown = agree(project).seen

    assert "\n    -'fine'\n    +'worse'\n" in shown
    assert " more characters; all of it: hostbridge trust --show\n" in shown
    assert "as you trusted it:" not in shown
    assert whole.count("\n    +# padding") == 900
    assert "the rest is as you trusted it: hostbridge agents show lint\n" in whole


def test_only_what_has_changed_has_a_colour(project):
    """Items of a list begin with a minus, too."""
    text = "name: worker\nprompt: x\nallow:\n- Bash(a)\n- Bash(b)\n"
    file = define(project, "worker.yaml", text)
    agree(project)
    file.write_text(text.replace("(b)", "(c)"))

    shown = project.run("trust", "--show", env={"FORCE_COLOR": "1"}).out

    assert "\n     - Bash(a)\n" in shown
    assert "\n\x1b[31m    -- Bash(b)\x1b[0m\n" in shown


def test_the_scripts_of_a_definition_are_compared_too(project):
    folder = define_lint(project)
    (folder / "lint.gguf").write_bytes(b"GGUF\0 one")
    agree(project)
    (folder / "tools" / "run.pym").write_text("'worse'\n")
    (folder / "lint.gguf").write_bytes(b"GGUF\0 two")

    shown = agree(project).seen

    assert "\n    -'fine'\n    +'worse'\n" in shown
    assert "\n    .bridge/agents/lint.gguf: SHA-256 " in shown
    assert "submit.pym (" not in shown


@pytest.mark.parametrize("how", ["gone", "another text"])
def test_a_text_that_was_not_kept_is_shown_whole(project, how):
    """A kept text counts only with its digest: nobody can plant another one."""
    file = define(project, "worker.yaml", GOOD)
    agree(project)
    (text,) = kept(project).iterdir()
    text.unlink() if how == "gone" else text.write_text("name: worker\n")
    file.write_text(GOOD + "timeout: 7\n")

    shown = agree(project).seen

    assert "what has changed:" not in shown
    assert "\nprompt:\n    As told: {{ task }}\n" in shown


def test_a_change_while_one_reads_is_not_shown_as_the_text(project):
    """What is compared has the digest that the yes will record."""
    file = define(project, "worker.yaml", GOOD)
    agree(project)
    file.write_text(GOOD + "timeout: 7\n")
    terminal = Terminal(project, "trust")
    terminal.read_until("Type yes to agree: ")
    file.write_text(GOOD + "timeout: 8\n")
    terminal.type("yes\n")
    assert terminal.end() == 0

    # The text of 7 was not kept: when it was recorded, the file had another.
    assert "what has changed:" not in agree(project).seen


def test_only_what_is_trusted_is_kept(project):
    file = define(project, "worker.yaml", GOOD)
    agree(project)
    file.write_text(GOOD + "timeout: 7\n")
    agree(project)

    assert [each.read_text() for each in kept(project).iterdir()] == [file.read_text()]
    project.run("trust", "--revoke")
    assert os.listdir(kept(project)) == []


def test_no_more_is_kept_than_there_is_room(monkeypatch, tmp_path):
    """Trust goes on without."""
    monkeypatch.setattr(trust, "MAX_KEPT_BYTES", 10)
    files = {}
    for name, text in (("a", "12345678"), ("b", "1234")):
        (tmp_path / name).write_text(text)
        files[tmp_path / name] = trust.hashlib.sha256(text.encode()).hexdigest()
    home = tmp_path / "own"
    home.mkdir()
    with Folder.open(str(home)) as folder:
        trust.keep(folder, files, set(files.values()))

    assert [f.read_text() for f in (home / "trusted").iterdir()] == ["12345678"]


def test_a_text_of_very_many_lines_is_shown_whole(project):
    """Comparing those could take minutes."""
    script = "".join(f"a = {number % 97}\n" for number in range(8_000))
    folder = define_lint(project, f"{script}'fine'\n")
    agree(project)
    (folder / "tools" / "run.pym").write_text("'worse'\n")

    shown = agree(project).seen

    assert "what has changed:" not in shown
    assert "    'worse'\n" in shown
