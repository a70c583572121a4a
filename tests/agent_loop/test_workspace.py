"""Only files of the project are read, and none that may hold secrets."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runworld import refusal

from bridge.agent_loop.file_tools import FileReader
from bridge.agent_loop.workspace import LeftOff, Project, Refused


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../x", "'../x' leads out of the project: `..` is refused"),
        ("src/../x", "'src/../x' leads out of the project: `..` is refused"),
        ("/etc/passwd", "'/etc/passwd' lies outside the project"),
        ("link", "'link' is a link that leads out of the project"),
        ("linked/x", "'linked/x' is a link that leads out of the project"),
        ("src", "'src' is a folder"),
        ("none.py", "'none.py' does not exist"),
        ("x" * 300, f"{'x' * 300!r} does not exist"),
        ("pipe", "'pipe' is not a plain file"),
        ("bin", "'bin' is binary"),
        ("huge", "'huge' is too large: 8,388,609 bytes, over 8,388,608"),
        ("a\nb", "a path holds no control characters"),
        ("loop", "'loop' does not exist"),
    ],
)  # fmt: skip
def test_error_not_read(folder, tmp_path, reader, path, message):
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "bin").write_bytes(b"a\0b")
    with (folder / "huge").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)

    assert refusal(reader.read_file, path) == message


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "sub/.ENV", ".git/config", ".ssh/id_ed25519", "server.pem",
     "id_rsa", ".netrc", "config/credentials.json", ".aws/config", "harmless.txt"],
)  # fmt: skip
def test_secrets_are_neither_read_nor_listed_nor_found(folder, reader, path):
    """By name, in any folder and any case, and through a link with a harmless name."""
    secret = folder / (".env" if path == "harmless.txt" else path)
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("TOKEN=abc")
    if path == "harmless.txt":
        (folder / path).symlink_to(secret)

    expected = f"{path!r} may hold secrets: it is neither read nor written"
    assert refusal(reader.read_file, path) == expected
    assert path not in reader.list_files()
    assert reader.search_text("TOKEN") == []


def test_an_example_of_a_secret_is_read(folder, reader):
    (folder / ".env.example").write_text("TOKEN=")

    assert reader.read_file(".env.example") == "TOKEN="


def test_folders_that_tools_make_are_not_listed(folder, reader):
    (folder / "node_modules/x").mkdir(parents=True)
    (folder / "node_modules/x/i.js").write_text("1")

    assert "node_modules/x/i.js" not in reader.list_files()
    assert reader.read_file("node_modules/x/i.js") == "1"


def test_a_link_to_a_folder_outside_is_not_followed(folder, tmp_path, reader):
    (folder / "linked").symlink_to(tmp_path)

    assert "linked/outside.txt" not in reader.list_files()
    expected = "'linked' is a link that leads out of the project"
    assert refusal(reader.list_files, "linked") == expected


def test_empty_folders_count_towards_the_limit(folder, monkeypatch):
    for number in range(9):
        (folder / f"a{number}").mkdir()
    assert "src/app.py" in Project(folder).files()

    monkeypatch.setattr("bridge.agent_loop.workspace.MAX_LISTED", 8)

    listed = Project(folder).files()

    assert next(listed) == "notes.md"
    with pytest.raises(LeftOff, match="only the first 8 files and folders"):
        next(listed)


@given(st.text("./~\\ab-é\0\n:*", max_size=20))
def test_no_path_leaves_the_project(tmp_path_factory, path):
    """Whatever a model writes is inside, or refused."""
    folder = tmp_path_factory.getbasetemp() / "fixed"
    (folder / "a/b").mkdir(parents=True, exist_ok=True)
    try:
        found = Project(folder).find(path)
    except Refused:
        return

    assert found.is_relative_to(os.path.realpath(folder))


def test_a_name_that_is_no_line_of_text_is_not_listed(folder, reader):
    """Nobody could ask for it, and its second line would look like one of ours."""
    for name in (b"a\xff.txt", b"b\nforged.py:1: x.txt"):
        (folder / os.fsdecode(name)).write_text("needle")

    assert reader.list_files(".", "*.txt") == []
    assert reader.search_text("needle") == []


@pytest.fixture
def swap(folder, tmp_path):
    """Replace a file or folder of the project by a link to its like outside."""
    outside = tmp_path / "outside"
    for name in ("src/deep/b.py", "z/a.txt"):
        (outside / name).parent.mkdir(parents=True)
        (outside / name).write_text("secret")

    def swap(path: str) -> None:
        (folder / path).rename(tmp_path / "away")
        (folder / path).symlink_to(outside / path)

    return swap


@pytest.mark.parametrize(
    ("look", "path", "swapped"),
    [
        ("read_file", "src/deep/b.py", "src"),
        ("read_file", "src/deep/b.py", "src/deep"),
        ("read_file", "src/deep/b.py", "src/deep/b.py"),
        ("list_files", "src", "src"),
    ],
)
def test_error_a_link_replaced_it_after_the_check(
    folder, monkeypatch, swap, look, path, swapped
):
    """A command of the agent may swap it between the check and the opening."""
    project = Project(folder)
    find = project.find

    def find_then_swap(path):
        real = find(path)
        swap(swapped)
        return real

    monkeypatch.setattr(project, "find", find_then_swap)

    expected = f"{path!r} was replaced while it was being read"
    assert refusal(getattr(FileReader(project), look), path) == expected


def test_a_folder_that_is_replaced_during_the_walk_is_not_followed(folder, swap):
    (folder / "z").mkdir()
    (folder / "z/a.txt").write_text("x")
    found = Project(folder).files()
    first = next(found)

    swap("z")

    assert [first, *found] == ["notes.md", "src/app.py", "src/deep/b.py"]


def test_nothing_is_left_open(reader):
    """With one descriptor lost in each read, a long run would have none left."""
    before = len(os.listdir("/dev/fd"))

    for _ in range(20):
        reader.read_file("src/app.py")
        reader.list_files("src")
        reader.search_text("import")
        refusal(reader.read_file, "src")
        refusal(reader.read_file, "src/none.py")

    assert len(os.listdir("/dev/fd")) == before


def test_folders_are_walked_to_a_limited_depth(tmp_path):
    """A clone may nest more of them than the stack or the open files allow."""
    (tmp_path / "near.txt").touch()
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("n", dir_fd=fd)
        below = os.open("n", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("far.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)

    assert list(Project(tmp_path).files()) == ["near.txt"]
