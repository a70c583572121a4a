"""Files with a name in three layers: which counts, and whose it is."""

import hashlib

import pytest

from bridge.agents.library import Kind, Library, unknown
from bridge.config import Settings
from bridge.errors import InvalidRequest, NotTrusted

SONGS = Kind("song", (".song", ".tune"))


@pytest.fixture
def songs(tmp_path):
    for folder in ("home/songs", "project/.bridge/songs"):
        (tmp_path / folder).mkdir(parents=True)
    return Library(SONGS, Settings(home=tmp_path / "home"), tmp_path / "project")


def test_the_first_file_of_a_name_counts(songs):
    users, projects = songs.folders["user"], songs.folders["project"]
    for file in (users / "a.song", users / "b.tune", projects / "a.tune"):
        file.write_text("la")
    (users / "c.song").mkdir()

    assert songs.names() == {"a": projects / "a.tune", "b": users / "b.tune"}


def test_a_file_that_a_link_leads_to_in_the_project_is_the_projects(songs, tmp_path):
    """It needs the user's trust, by whatever way it is found."""
    file = songs.folders["project"] / "a.song"
    file.write_text("la")
    link = songs.folders["user"] / "b.song"
    link.symlink_to(file)

    assert (songs.layer(link), songs.in_project(link)) == ("project", file)
    assert songs.layer(tmp_path / "a.song") is None
    with pytest.raises(NotTrusted):
        songs.check_trust(songs.in_project(link), b"la")
    songs.check_trust(None, b"la")


def test_what_cannot_be_trusted_is_named(songs, tmp_path):
    (tmp_path / "elsewhere.song").write_text("la")
    link = songs.folders["project"] / "a.song"
    link.symlink_to(tmp_path / "elsewhere.song")

    found, [wrong] = songs.of_project()

    assert found == []
    assert str(wrong) == f"{link}: is a link; a project must bring the file itself"


def test_an_unknown_name_says_where_it_was_looked_for(songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (songs.folders["user"] / "ballad.song").write_text("la")
    (tmp_path / "here.tune").write_text("la")

    way = (
        f"; there is none in songs/ of {tmp_path}/project/.bridge, {tmp_path}/home; "
        "give the path of one, or see `hostbridge song list`"
    )
    near = "no song is named 'balad'; did you mean 'ballad'?"
    beside = "no song is named 'here'; did you mean ./here.tune?"
    assert str(unknown("balad", songs)) == near + way
    assert str(unknown("here", songs)) == beside + way


@pytest.mark.parametrize("name", ["../other", "sub/../../other", "/etc/other", ".."])
def test_error_a_call_names_no_path(songs, tmp_path, name):
    """A stranger's file would be read, and quoted, wherever it leads."""
    caller = tmp_path / "sub" / "a.song"
    caller.parent.mkdir()
    (tmp_path / "other.song").write_text("la")

    with pytest.raises(InvalidRequest, match="no song is named"):
        songs.called(name, caller)


def test_a_file_that_changed_since_or_is_gone(songs, tmp_path):
    """Also where its line ends alone are others: what is parsed is the same."""
    file = tmp_path / "a.song"
    file.write_bytes("\ufeffla\r\n".encode())
    digest = hashlib.sha256(b"la\n").hexdigest()

    assert songs.changed(str(file), digest, {}) == []
    gone = songs.changed(str(file), digest, {"b": digest})
    assert gone == [tmp_path / "b.song"]
    file.write_text("lo")
    assert songs.changed(str(file), digest, {}) == [file]
