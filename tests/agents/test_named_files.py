"""Files with a name in three layers: which counts, and whose it is."""

import pytest

from bridge.agents.named_files import NamedFiles
from bridge.config import Settings
from bridge.errors import NotTrusted


class Songs(NamedFiles):
    what = "song"
    folder = "songs"
    suffixes = (".song", ".tune")

    def shipped(self):
        return None


@pytest.fixture
def songs(tmp_path):
    for folder in ("home/songs", "project/.bridge/songs"):
        (tmp_path / folder).mkdir(parents=True)
    return Songs(Settings(home=tmp_path / "home"), tmp_path / "project")


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


def test_similar_names_of_an_unknown_one(songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (songs.folders["user"] / "ballad.song").write_text("la")
    (tmp_path / "here.tune").write_text("la")

    way = (
        f"; give the path of one, put it into {songs.folders['user']}/%s.song, or see "
        "`hostbridge song list`"
    )
    near = "no song is named 'balad'; did you mean 'ballad'?"
    beside = "no song is named 'here'; did you mean ./here.tune?"
    assert songs.unknown("balad") == near + way % "balad"
    assert songs.unknown("here") == beside + way % "here"
