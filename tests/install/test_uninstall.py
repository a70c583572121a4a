"""uninstall: the bytes that were there before, whatever came between."""

import json
import os
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from installed import MINE, expected
from pinworld import kinds_at_work, pin
from sessionworld import in_a_hooked_session

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.host.hook_table import HOOKS
from bridge.store.sessions import live_sessions

ALL = ("--local", "--user", "--project")
TEXTS = (None, "", "{}", "{ }", " \n", MINE, '{"hooks":{"Stop":[]}}', "\ufeff{}\r\n")


# How a text is edited does not depend on the scope.
FILES = [("local", text) for text in TEXTS]
FILES += product(("user", "project"), (None, MINE))


@pytest.mark.parametrize(("scope", "before"), FILES)
def test_uninstall_restores_the_bytes(world, scope, before):
    """Also where a file did not exist, or was laid out oddly."""
    file = {"local": world.local, "user": world.user, "project": world.shared}[scope]
    if before is not None:
        file.parent.mkdir()
        file.write_bytes(before.encode())
    tree, folders = world.tree(), file.parent.is_dir()

    world.run("install", f"--{scope}")
    world.run("install", f"--{scope}")
    code, out, err = world.run("uninstall")

    said = f"took the hooks out of {file}; the rest is as it was\n"
    if before is None:
        said = f"removed {file}: it held nothing else\n"
    if scope == "project":
        said += "  others who work on the project have them until that is committed\n"
    said += f"removed {world.carrier}\n"
    assert (code, out, err) == (0, said, "")
    assert world.tree() == tree
    assert file.parent.is_dir() == folders
    assert sorted(os.listdir(world.home / ".hostbridge" / "installs")) == []
    assert not (world.home / ".hostbridge" / "hooks.sh").exists()


def test_uninstall_takes_out_only_ours_when_the_file_has_changed(world):
    """What the user, or the client, added since stays."""
    world.run("install")
    settings = json.loads(world.local.read_text())
    settings["permissions"] = {"allow": ["Bash(ls)"]}
    world.local.write_text(json.dumps(settings, indent=4))

    code, _, _ = world.run("uninstall")

    assert code == 0
    assert world.local.read_text() == (
        '{\n    "permissions": {\n        "allow": [\n            "Bash(ls)"\n'
        "        ]\n    }\n}"
    )


def test_uninstall_without_memory_takes_out_ours(world):
    """A colleague's commit, or a home that was lost."""
    world.run("install", "--project")
    for path in (world.home / ".hostbridge").rglob("*.*"):
        path.unlink()

    code, _, _ = world.run("uninstall")

    assert (code, world.shared.read_text()) == (0, "{}\n")
    assert not world.carrier.exists()


def test_uninstall_all_scopes_at_once(world):
    for scope in ALL:
        world.run("install", scope)

    code, out, err = world.run("uninstall")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"removed {world.local}: it held nothing else",
        f"removed {world.user}: it held nothing else",
        f"removed {world.shared}: it held nothing else",
        "  others who work on the project have them until that is committed",
        f"removed {world.carrier}",
    ]
    assert world.tree() == {}
    assert not world.local.parent.exists()


def test_uninstall_of_one_scope_leaves_the_others(world):
    world.run("install", "--local")
    world.run("install", "--user")

    code, out, _ = world.run("uninstall", "--local")

    assert (code, out) == (0, f"removed {world.local}: it held nothing else\n")
    assert json.loads(world.user.read_text()) == expected("user")
    assert world.carrier.exists()


def test_uninstall_where_nothing_is_installed(world):
    code, out, err = world.run("uninstall", "--user")

    said = (
        "hostbridge is not installed: no hooks of it (--user) in the settings for "
        f"{world.project}\n"
    )
    assert (code, out, err) == (0, said, "")
    assert world.tree() == {}


def test_uninstall_names_the_plugin(world):
    """Its hooks run on: this command does not remove them."""
    world.user.parent.mkdir(parents=True, exist_ok=True)
    world.user.write_text('{"enabledPlugins": {"hostbridge@hostbridge": true}}')

    code, out, _ = world.run("uninstall")

    assert code == 0
    assert out.splitlines()[-1] == (
        f"plugin hostbridge@hostbridge ({world.user}) is on; `claude plugin uninstall` "
        "removes it"
    )


def test_the_pointer_stays_while_another_project_needs_it(world):
    other = world.root / "other"
    (other / ".git").mkdir(parents=True)
    pointer = world.home / ".hostbridge" / "hooks.sh"
    world.run("install", "--project")
    world.run("install", "--project", cwd=other)

    world.run("uninstall")
    stayed = pointer.exists()
    world.run("uninstall", cwd=other)

    assert stayed
    assert not pointer.exists()


def test_dry_run_of_uninstall(world):
    """Short enough to be read before one says yes."""
    world.user.parent.mkdir()
    world.user.write_text(MINE)
    world.run("install")
    world.run("install", "--user")
    before = world.tree()

    done = world.run("uninstall", "--dry-run")

    before_it = (
        "SessionStart 2, SessionEnd, FileChanged, CwdChanged, PostModelSwitch, "
        "UserPromptSubmit"
    )
    behind_it = (
        "PreToolUse 9, PreSkillShellCommand 2, PostToolUse 8, PostToolUseFailure 4, "
        "PermissionRequest, SubagentStart, SubagentStop, StopFailure"
    )
    said = (
        f"would remove {world.local}, which holds {len(HOOKS)} hooks and nothing else: "
        f"{before_it}, Stop 2, {behind_it}\n"
        f"would take {len(HOOKS)} hooks out of {world.user}: "
        f"Stop 2, {before_it}, {behind_it}\n"
        f"{world.shared}: nothing would change\n"
    )
    assert done == (0, said, "")
    assert world.tree() == before


def test_uninstall_lets_another_install_act(world):
    """A session that these hooks served is served by the plugin's from then on."""
    world.run("install")
    home = world.home / ".hostbridge"
    state = Path(f"{home}/state{world.project.resolve()}/@")
    state.mkdir(parents=True)
    for session, kind in {"one": "local", "two": "plugin"}.items():
        pin(home, session, kind, state)

    world.run("uninstall")

    assert kinds_at_work(home) == ["plugin"]


def test_uninstall_of_the_user_scope_reaches_every_project(world):
    world.run("install", "--user")
    home = world.home / ".hostbridge"
    state = home / "state/elsewhere/@"
    state.mkdir(parents=True, mode=0o700)
    pin(home, "one", "user", state)

    world.run("uninstall")

    assert kinds_at_work(home) == []


@pytest.fixture
def hooked(world):
    """Has a session open that an install acts for; returns the ids of open ones."""
    settings = Settings.from_environment({"HOME": str(world.home)})
    project = SimpleNamespace(
        folder=world.project, bridge=Bridge(settings, world.project)
    )

    def open_ids():
        return [each.session_id for each in live_sessions(project.bridge.store)]

    def begin(kind):
        in_a_hooked_session(project, kind)
        return open_ids

    return begin


def test_a_session_that_loses_the_last_hooks_is_no_longer_open(world, hooked):
    """It hears of no request; a program would wait for it until its deadline."""
    for scope in ("--local", "--user"):
        world.run("install", scope)
    open_ids = hooked("local")

    code, out, _ = world.run("uninstall", "--local")
    with_others = open_ids()
    last = world.run("uninstall", "--user")

    assert (code, out) == (0, f"removed {world.local}: it held nothing else\n")
    assert with_others == ["s"]
    assert last[1].splitlines()[1] == "session s is open, and takes no more requests"
    assert open_ids() == []


@pytest.mark.parametrize(
    ("scopes", "is_enabled", "acting", "left"),
    [
        (ALL, False, "local", []),
        (["--local"], False, "plugin", ["s"]),
        (["--local"], True, "local", ["s"]),
    ],
    ids=["all at once", "the plugin serves it", "the plugin reaches it"],
)
def test_sessions_that_stay_open(world, hooked, scopes, is_enabled, acting, left):
    """The install that acted goes first, the last that reached it later.

    The plugin's hooks act for a session from its next event on.
    """
    for scope in scopes:
        world.run("install", scope)
    if is_enabled:
        world.user.parent.mkdir(parents=True, exist_ok=True)
        world.user.write_text('{"enabledPlugins": {"hostbridge@hostbridge": true}}')
    open_ids = hooked(acting)

    _, out, _ = world.run("uninstall")

    assert ("session s" in out, open_ids()) == (not left, left)


def test_uninstall_of_the_user_scope_takes_sessions_of_every_project(world, hooked):
    world.run("install", "--user")
    open_ids = hooked("user")
    elsewhere = world.root / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)

    world.run("uninstall", "--user", cwd=elsewhere)

    assert open_ids() == []


def test_error_a_clone_whose_settings_are_a_link_to_the_users(world):
    """Its hooks are the user's: `uninstall --user` is what removes them."""
    world.run("install", "--user")
    before = world.user.read_bytes()
    world.local.parent.mkdir(parents=True)
    world.local.symlink_to(world.user)

    code, _, err = world.run("uninstall", "--local")

    assert (code, "which is not in the project" in err) == (1, True)
    assert world.user.read_bytes() == before
