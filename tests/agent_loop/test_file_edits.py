"""Writing files: only what a rule grants, whole or not at all, and nothing else."""

import os
import stat

import pytest
from runworld import call, definition, refusal, submit

from bridge.agent_loop.file_edits import Editor
from bridge.agent_loop.workspace import Project


@pytest.fixture
def editor(folder):
    return Editor(Project(folder), ("Edit(src/**)",))


def test_makes_replaces_and_edits(folder, editor):
    expected = "wrote src/new/c.py: 2 lines"
    assert editor.write_file("src/new/c.py", "a = 1\nb = 2\n") == expected
    wanted = "changed src/new/c.py at line 2"
    assert editor.edit_file("src/new/c.py", "b = 2", "b = 3") == wanted
    assert (folder / "src/new/c.py").read_text() == "a = 1\nb = 3\n"
    assert editor.write_file("src/new/c.py", "") == "replaced src/new/c.py: 0 lines"
    assert (folder / "src/new/c.py").read_text() == ""
    assert os.listdir(folder / "src/new") == ["c.py"]


def test_a_file_keeps_its_permissions_and_its_line_ends(folder, editor):
    script = folder / "src/run.sh"
    script.write_bytes(b"one\r\ntwo\r\n")
    script.chmod(0o750)

    editor.edit_file("src/run.sh", "two", "three")

    assert script.read_bytes() == b"one\r\nthree\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_link_in_the_project_is_followed_to_what_it_names(folder, editor):
    (folder / "src/link.py").symlink_to("app.py")

    editor.write_file("src/link.py", "new\n")

    assert (folder / "src/link.py").is_symlink()
    assert (folder / "src/app.py").read_text() == "new\n"


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("nowhere", "`old` does not stand in 'src/app.py'"),
        ("o", "`old` stands 3 times in 'src/app.py'"),
    ],
)
def test_error_not_the_one_place(folder, editor, old, message):
    before = (folder / "src/app.py").read_text()

    assert refusal(editor.edit_file, "src/app.py", old, "x").startswith(message)
    assert (folder / "src/app.py").read_text() == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("notes.md", "'notes.md' may not be written; granted: Edit(src/**)"),
        ("src/../notes.md", "leads out of the project"),
        ("/etc/passwd", "'/etc/passwd' lies outside the project"),
        ("src/.env", "'src/.env' may hold secrets"),
        ("src/.claude/settings.json", "may not be written"),
        ("src/out", "'src/out' is a link that leads out of the project"),
        ("src/away", "'src/away' may not be written"),
        ("src/deep", "'src/deep' is a folder"),
        ("src/pipe", "'src/pipe' is not a plain file"),
        ("src/app.py/x", "'src/app.py/x' was replaced while"),
        ("src/a\nb", "a path holds no control characters"),
    ],
)
def test_error_what_may_not_be_written(folder, tmp_path, editor, path, message):
    (folder / "src/out").symlink_to(tmp_path / "outside.txt")
    (folder / "src/away").symlink_to("../notes.md")
    os.mkfifo(folder / "src/pipe")

    assert message in refusal(editor.write_file, path, "x")
    assert (tmp_path / "outside.txt").read_text() == "outside"
    assert (folder / "notes.md").read_text() == "# Notes\n"


def test_error_a_rule_without_a_path_grants_no_governing_folder(folder):
    editor = Editor(Project(folder), ("Write",))

    assert editor.write_file("any.txt", "x") == "wrote any.txt: 1 lines"
    assert "may not be written" in refusal(editor.write_file, ".bridge/rules.yaml", "x")


def test_error_text_that_is_not_utf8_is_kept(folder, editor):
    (folder / "src/latin").write_bytes(b"caf\xe9")

    assert "not UTF-8" in refusal(editor.edit_file, "src/latin", "caf", "x")
    assert (folder / "src/latin").read_bytes() == b"caf\xe9"


def test_error_a_full_disk_leaves_the_old_text(folder, editor, monkeypatch):
    def full(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.rename", full)

    message = refusal(editor.write_file, "src/app.py", "x")
    assert message == "'src/app.py': No space left on device"
    assert sorted(os.listdir(folder / "src")) == ["app.py", "deep"]


def test_a_model_writes_with_the_tools(world):
    """And rules see the calls by the client's names."""
    world.run(
        call("write_file", path="a.txt", content="one\n"),
        call("edit_file", path="a.txt", old="one", new="two"),
        submit(),
        agent=definition(allow=("Edit",)),
    )

    assert (world.project / "a.txt").read_text() == "two\n"
