"""`hostbridge config`: where each setting comes from, and changing what lasts."""

import signal
import subprocess
import sys
import tomllib

import pytest

from bridge.store.host_process import identify
from bridge.store.sessions import SessionLimits

COMMENTED = """\
# What this machine can do.
slots = 3  # two are for the tests

# Not more than the plan allows.
agents_per_hour = 100
"""


@pytest.fixture
def user(project):
    """The user's own file."""
    file = project.write("config.toml", COMMENTED, own=True)
    file.chmod(0o600)
    return file


def value_of(project, key: str, **env: str) -> tuple[object, str]:
    found = project.run("config", "get", key, "--json", env=env).json
    return found["value"], found["source"]


@pytest.mark.usefixtures("user")
def test_list_says_where_each_value_comes_from(project):
    project.run("config", "set", "slots", "5", "--project")

    ran = project.run("config", env={"BRIDGE_MAX_DEPTH": "3"})

    rows = [line.split("\t") for line in ran.out.splitlines()]
    found = {key: (value, source) for key, value, source, _ in rows}
    assert (ran.code, ran.err) == (0, "")
    assert found["slots"] == ("5", "project file")
    assert found["agents_per_hour"] == ("100", "user file")
    assert found["max_depth"] == ("3", "BRIDGE_MAX_DEPTH")
    assert found["max_offers"] == ("3", "default")
    assert found["requester"] == ("a test", "BRIDGE_REQUESTER")
    assert not {"parent_request", "host_pid", "project_dir"} & set(found)


@pytest.mark.parametrize("key", ["slots", "SLOTS", "BRIDGE_SLOTS"])
@pytest.mark.usefixtures("user")
def test_get_prints_the_value_alone(project, key):
    project.run("config", "get", key).prints(0, "3\n")


def test_a_setting_without_a_variable(project):
    """Only a file says it; and no name is no setting's."""
    ran = project.run("config", "set", "--project", "share_conversation", "true")
    nameless = project.run("config", "get", "")

    assert (ran.code, ran.out.split("  ")[0]) == (0, "share_conversation = true")
    project.run("config", "get", "share_conversation").prints(0, "true\n")
    assert (nameless.code, nameless.out) == (2, "")


def test_set_keeps_comments_and_order(project, user):
    ran = project.run("config", "set", "slots", "8")

    ran.prints(0, f"slots = 8  (user file; set in {user})\n")
    assert user.read_text() == COMMENTED.replace("slots = 3", "slots = 8")
    assert user.stat().st_mode & 0o777 == 0o600


def test_unset_gives_the_default_again(project, user):
    ran = project.run("config", "unset", "agents_per_hour")

    done = f"agents_per_hour = 200  (default; no longer set in {user})\n"
    ran.prints(0, done)
    assert tomllib.loads(user.read_text()) == {"slots": 3}
    project.run("config", "unset", "agents_per_hour").fails(
        2, f"{user}: agents_per_hour is not set there"
    )


def test_the_first_setting_makes_the_file(project):
    project.run("config", "set", "cli-fallback", "on", "--project")
    project.run("config", "set", "debug", "yes", "--project")
    project.run("config", "set", "local_model", "~/m.gguf", "--project")

    file = project.state / "config.toml"
    assert file.read_text().splitlines() == [
        'cli_fallback = "local"',
        "debug = true",
        f'local_model = "{project.env["HOME"]}/m.gguf"',
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert value_of(project, "cli_fallback") == ("local", "project file")


def test_what_the_project_sets_is_changed_there(project, user):
    """Otherwise a change would change nothing."""
    project.run("config", "set", "slots", "5", "--project")
    project.run("config", "set", "slots", "6")
    as_set = value_of(project, "slots")

    ran = project.run("config", "set", "slots", "7", "--user")

    assert as_set == value_of(project, "slots") == (6, "project file")
    wins = f"{project.state}/config.toml wins over {user} in this project"
    assert ran.err == f"hostbridge: {wins}\n"


def test_large_numbers_are_typed_and_shown_short(project, user):
    """But a script reads digits."""
    ran = project.run("config", "set", "tokens_per_hour", "5M")
    value = project.run("config", "get", "tokens_per_hour").out

    ran.prints(0, f"tokens_per_hour = 5M  (user file; set in {user})\n")
    assert value == "5000000\n"
    assert tomllib.loads(user.read_text())["tokens_per_hour"] == 5_000_000
    listed = project.run("config").out.splitlines()
    assert any(line.startswith("tokens_per_session\t500000000\t") for line in listed)


def test_who_wins_over_a_file_is_said(project, user, host):
    limits = SessionLimits(slots=2, agents_per_hour=9, by_variable=("slots",))
    with subprocess.Popen(["sleep", "600"]) as client:
        host.change(limits=limits, host=identify(client.pid))
        ran = project.run("config", "set", "slots", "8", env={"BRIDGE_SLOTS": "1"})
        client.kill()

    assert ran.err == (
        f"hostbridge: BRIDGE_SLOTS is set in this shell, and wins over {user}\n"
        "hostbridge: session session-1 was started with BRIDGE_SLOTS, which wins "
        "there; start it again without\n"
    )


NUMBER = "expected a whole number from"
REFUSED = {
    "set slots 0": f"slots='0': {NUMBER} 1 to 1,000,000,000",
    "set agents_per_hour -1": f"agents_per_hour='-1': {NUMBER} 0 to 1,000,000,000",
    "set slot 3": "no setting 'slot'; did you mean slots?",
    "get colour": "no setting 'colour'; `hostbridge config` lists them",
    "set home /x": "home stands in no file: it says where the files are (BRIDGE_HOME)",
    "set debug perhaps": "debug='perhaps': expected 1 or 0",
    "set slots": "config set: missing: VALUE|-; see `hostbridge config set --help`",
    "list --user": "config list takes no --user; it takes --json",
    "unset slots --user --project": (
        "config: --project: cannot go with --user; see `hostbridge config --help`"
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_error_what_is_refused_changes_nothing(project, user, words):
    project.run("config", *words.split()).fails(2, REFUSED[words])

    assert user.read_text() == COMMENTED


def test_a_key_is_never_printed(project):
    """It comes from stdin, so that no shell remembers it."""
    ran = project.run("config", "set", "openai_api_key", "-", stdin=b"sk-12345\n")
    file = project.bridge.settings.home / "config.toml"
    said = [ran]
    said += [project.run("config", *words) for words in (("list",), ("list", "--json"))]
    file.chmod(0o644)

    exposed = project.run("config", "get", "openai_api_key")

    assert file.read_text() == 'openai_api_key = "sk-12345"\n'
    assert "sk-12345" not in "".join(each.out + each.err for each in (*said, exposed))
    assert exposed == (
        0,
        "…\n",
        f"hostbridge: {file} holds a key, and others can read it: chmod 600 {file}\n",
    )


def test_error_a_broken_file_is_told_and_can_be_mended(project, user):
    user.write_text("slot = 3\n")
    problem = f"{user}:1:1: no setting 'slot'; did you mean slots?"

    refused = project.run("status")
    listed = project.run("config", "get", "slots")
    off = project.run("off")
    mended = project.run("config", "unset", "slot")

    refused.fails(2, problem)
    assert listed == (2, "4\n", f"hostbridge: {problem}\n")
    assert off.code == 0
    mended.prints(0, f"slot: no longer set in {user}\n")
    assert project.run("status").code == 0


def test_a_change_beside_a_mistake_says_that_it_does_not_count(project, user):
    user.write_text("debug = 1\n")

    ran = project.run("config", "set", "slots", "5")

    assert ran.code == 2
    assert ran.out == (
        f"slots is set in {user}, but nothing in that file counts until it is correct\n"
    )
    assert f"{user}:1:9: debug: expected true or false" in ran.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slots 3\n", "1:7: not TOML: expected '=' after a key in a key/value pair"),
        ("slots = '\udce9'\n", "1:10: not UTF-8"),
    ],
)
def test_error_a_file_that_is_no_toml_is_left_alone(project, user, text, why):
    user.write_bytes(text.encode(errors="surrogateescape"))
    before = user.read_bytes()

    ran = project.run("config", "set", "slots", "3")

    ran.fails(2, f"{user}:{why}; correct it first")
    assert user.read_bytes() == before


def test_error_a_link_is_not_written_through(project, user):
    target = user.with_name("other.toml")
    user.rename(target)
    user.symlink_to(target)

    ran = project.run("config", "set", "slots", "9")

    ran.fails(2, f"{user}: not a plain file; move it away")
    assert target.read_text() == COMMENTED


def test_of_many_changes_at_once_none_is_lost(project, user):
    keys = ("slots", "max_depth", "max_offers", "lease_s", "local_context")
    writers = [
        project.start("config", "set", key, str(300 + number))
        for number, key in enumerate(keys)
    ]
    codes = [writer.wait(300) for writer in writers]
    for writer in writers:
        writer.communicate()

    assert codes == [0] * len(keys)
    found = tomllib.loads(user.read_text())
    assert [found[key] for key in keys] == [300 + n for n in range(len(keys))]
    assert "# Not more than the plan allows." in user.read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
from bridge.api.setting_files import SettingFiles
from bridge.store import directory
step = sys.argv[1]
real = getattr(os, step)
def die(*words, **named):
    os.kill(os.getpid(), signal.SIGKILL)
files = SettingFiles(Path())
setattr(os, step, die)
files.change("slots", "77")
"""


@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_kill_at_each_step_leaves_the_old_file(project, user, step):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step], env=project.env, cwd=project.folder,
        check=False,
    )  # fmt: skip

    assert done.returncode == -signal.SIGKILL
    assert user.read_text() == COMMENTED
    assert project.run("config", "set", "slots", "8").code == 0


def test_a_program_is_found_in_no_folder_by_chance(project):
    """What a stranger's archive holds was run wherever one stood later."""
    project.run("config", "set", "claude", "./evil")
    assert value_of(project, "claude")[0] == str(project.folder / "evil")

    project.run("config", "set", "claude", "~/bin/claude")
    home = project.env["HOME"]
    assert value_of(project, "claude")[0] == f"{home}/bin/claude"

    project.run("config", "set", "claude", "claude-next")
    assert value_of(project, "claude")[0] == "claude-next"
