"""Our own agent among the user's: written by `install`, gone with the last of them."""

from bridge.host.carrier import KIND
from bridge.host.install_records import InstallRecord, InstallRecords, sha256
from bridge.shipped import agents_folder

TEXT = (agents_folder() / "hostbridge-reader.md").read_bytes()
MINE = b"---\nname: hostbridge-reader\ndescription: mine\n---\nMine.\n"


def test_error_a_file_of_the_users_stays(world):
    world.carrier.parent.mkdir(parents=True)
    world.carrier.write_bytes(MINE)

    code, _, err = world.run("install")

    assert code == 0
    assert f"{world.carrier} is not hostbridge's and stays" in err
    world.run("uninstall")
    assert world.carrier.read_bytes() == MINE


def test_an_upgrade_brings_it_up_to_date(world):
    """What an older version wrote is ours, and nobody else has changed it."""
    world.run("install")
    world.carrier.write_text("older\n")
    after = sha256("older\n")
    record = InstallRecord(file=str(world.carrier), kind=KIND, after_sha256=after)
    InstallRecords(world.home / ".hostbridge").save(record)

    world.run("install")

    assert world.carrier.read_bytes() == TEXT


def test_the_others_of_the_user_stay(world):
    other = world.carrier.with_name("mine.md")
    other.parent.mkdir(parents=True)
    other.write_bytes(MINE)

    world.run("install")
    world.run("uninstall")

    assert world.tree() == {"home/.claude/agents/mine.md": MINE}


def test_error_install_goes_on_without_it(world):
    """A read-only folder of agents keeps no hooks from the user."""
    world.carrier.parent.parent.mkdir(parents=True)
    world.carrier.parent.write_text("no folder\n")

    code, _, err = world.run("install")

    assert code == 0
    assert "agents cannot search in sessions" in err
    assert world.local.exists()
