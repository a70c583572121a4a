"""Where the state lies, and what is refused."""

import os
from pathlib import Path

import pytest
from storeworld import put_odd

from bridge.config import Settings
from bridge.errors import StateRefused
from bridge.store.location import Place, find_project, locate, mirror, open_state

# What the project is called, and what its state is called below `state/`.
ODD_NAMES = {
    "plain": ("app", "app/@"),
    "nested": ("a/b/c", "a/b/c/@"),
    "space": ("my app", "my app/@"),
    "mark": ("@", "@@/@"),
    "mark first": ("@app/x", "@@app/x/@"),
    "two marks": ("@@app", "@@@app/@"),
    "mark inside": ("a@b", "a@b/@"),
    "quotes": ('it\'s "it"', 'it\'s "it"/@'),
    "dollar": ("$HOME `x`", "$HOME `x`/@"),
    "star": ("a*[b]?", "a*[b]?/@"),
    "dash": ("-rf", "-rf/@"),
    "backslash": ("a\\nb", "a\\nb/@"),
    "not ascii": ("été-日本", "été-日本/@"),
    "dots": ("..app.", "..app./@"),
    "newline inside": ("a\nb", "a\nb/@"),
    "state itself": ("state/@", "state/@@/@"),
}


def settings(home: Path, **more: str) -> Settings:
    return Settings.from_environment({"HOME": str(home), **more})


@pytest.mark.parametrize(
    ("name", "mirrored"), list(ODD_NAMES.values()), ids=list(ODD_NAMES)
)
@pytest.mark.parametrize("inside", ["", "sub", "sub/@deep"], ids=["top", "sub", "deep"])
def test_the_state_mirrors_the_path(tmp_path, name, mirrored, inside):
    project = tmp_path / name
    here = project / inside
    here.mkdir(parents=True)
    (project / ".git").mkdir()
    home = tmp_path / "our home"
    base = os.path.realpath(tmp_path)[1:]
    expected = home / ".hostbridge" / "state" / base / mirrored

    assert locate(settings(home), here).state == expected


@pytest.mark.parametrize("git", ["folder", "file", "dangling link", "none"])
def test_what_makes_a_project(tmp_path, git):
    here = tmp_path / "p" / "sub"
    here.mkdir(parents=True)
    mark = tmp_path / "p" / ".git"
    if git == "folder":
        mark.mkdir()
    elif git == "file":
        mark.write_text("gitdir: elsewhere")
    elif git == "dangling link":
        mark.symlink_to("nowhere")
    home = tmp_path / "h"

    assert locate(settings(home), here).project == Path(
        os.path.realpath(here if git == "none" else mark.parent)
    )


def test_links_on_the_way_are_resolved(tmp_path):
    (tmp_path / "real" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    assert find_project(tmp_path / "link") == Path(os.path.realpath(tmp_path / "real"))


def test_the_root_is_a_project_too(tmp_path):
    home = tmp_path / "h"

    assert mirror(home, Path("/")) == home / "state" / "@"


def test_a_state_directory_can_be_named(tmp_path):
    named = settings(tmp_path, BRIDGE_STATE_DIR=str(tmp_path / "named"))

    place = locate(named, tmp_path / "app")

    assert (place.state, place.guard) == (tmp_path / "named", tmp_path / "named")
    assert place.reason == "BRIDGE_STATE_DIR names it"


@pytest.mark.parametrize("variable", ["BRIDGE_STATE_DIR", "BRIDGE_HOME"])
@pytest.mark.parametrize("name", ["state", "."])
def test_error_state_inside_the_project(tmp_path, variable, name):
    """A clone could then bring requests of its own."""
    project = tmp_path / "app"
    (project / ".git").mkdir(parents=True)
    inside = project / name

    with pytest.raises(StateRefused) as caught:
        locate(settings(tmp_path, **{variable: str(inside)}), project)

    real = os.path.realpath(project)
    assert str(caught.value) == (
        f"{inside}: {variable} lies inside the project {real}, whose files anyone may "
        f"write; set {variable} to a folder outside of it"
    )


def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "app", tmp_path / "home/state/app/@", tmp_path / "home", "")


def test_what_is_made_is_for_this_user_alone(tmp_path):
    old = os.umask(0)
    try:
        open_state(place(tmp_path)).close()
    finally:
        os.umask(old)

    made = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
    assert {
        path.name: oct(path.stat().st_mode & 0o777) for path in made
    } == dict.fromkeys(("home", "state", "app", "@"), "0o700")


@pytest.mark.parametrize("where", ["home", "home/state/app/@"], ids=["guard", "state"])
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777], ids=oct)
def test_error_others_can_write(tmp_path, where, mode):
    open_state(place(tmp_path)).close()
    folder = tmp_path / where
    folder.chmod(mode)

    with pytest.raises(StateRefused) as caught:
        open_state(place(tmp_path)).close()

    assert str(caught.value) == (
        f"{folder}: others can write to it (mode {mode:04o}); run: chmod 700 {folder}"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("where", ["home", "home/state/app/@"], ids=["guard", "state"])
def test_error_another_users_folder(tmp_path, where):
    open_state(place(tmp_path)).close()
    os.chown(tmp_path / where, 65534, 65534)

    with pytest.raises(StateRefused) as caught:
        open_state(place(tmp_path)).close()

    assert str(caught.value) == (
        f"{tmp_path / where}: belongs to user 65534, not to you (0); set BRIDGE_HOME "
        "to a folder of your own"
    )


def test_error_where_no_folder_can_be_made():
    """It was never there: nobody has removed it meanwhile."""
    # Linux makes none in there, and says so as if the way led nowhere.
    nowhere = Path("/proc/x")

    with pytest.raises(StateRefused, match="no folder can be made here"):
        open_state(Place(Path("/"), nowhere / "state", nowhere, "a test"))


@pytest.mark.parametrize(
    "where", ["home", "home/state", "home/state/app", "home/state/app/@"]
)
@pytest.mark.parametrize("what", ["link", "dangling", "file", "pipe"])
def test_error_something_else_on_the_way(tmp_path, where, what):
    """A link could lead out of the state, into files that others may write."""
    open_state(place(tmp_path)).close()
    path = tmp_path / where
    path.rename(tmp_path / "moved")
    if what == "file":
        path.touch()
    else:
        put_odd(path, what, tmp_path / "moved")

    with pytest.raises(StateRefused) as caught:
        open_state(place(tmp_path))

    # What the user has named may be anything: never to be removed on our word.
    cure = "set BRIDGE_HOME, or BRIDGE_STATE_DIR, to one"
    if where != "home":
        cure = "remove it"
    assert str(caught.value) == (
        f"{path}: not a folder of its own; {cure}; hostbridge follows no link"
    )


def test_error_a_file_above_the_home(tmp_path):
    (tmp_path / "home").write_text("")
    inside = Place(tmp_path, tmp_path / "home/x/y", tmp_path / "home/x", "")

    with pytest.raises(StateRefused):
        open_state(inside).close()


def test_error_a_path_too_long_for_what_lies_below_it(tmp_path):
    """Each of its names is short enough."""
    long = tmp_path.joinpath(*["d" * 200] * 20)

    with pytest.raises(StateRefused, match="too long a path"):
        locate(settings(tmp_path, BRIDGE_STATE_DIR=str(long)), tmp_path / "app")
