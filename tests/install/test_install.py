"""install and uninstall: what is on disk before and after, and what they say."""

import json
import os
import stat
import sys

import pytest
from installed import MINE, expected
from programs import ran

from bridge.host.hook_table import HOOKS, PROJECT, Hook
from bridge.host.install_records import InstallRecords
from bridge.shipped import hooks_folder

MANY = len(HOOKS)
# What the test itself has made.
STAGE = {"home", "pro ject", ".git"}
NEXT = """
Open sessions load the hooks at their next event. Restart them so that they wake while \
idle and their agents can search.
Next: open `claude` here, and ask it from another terminal:

    hostbridge ask "Which modules lack tests?"

If nothing happens: hostbridge doctor
"""
RUN = f"  they run {hooks_folder()} with {sys.executable}\n"


def test_install_is_for_the_user_in_this_project(world):
    """The default writes the one file that holds paths of this machine."""
    code, out, err = world.run("install")

    said = (
        f"installed for you, in this project: {MANY} hooks in {world.local}\n{RUN}"
        "  Claude Code keeps that file out of git from the next session on\n"
        f"{world.wrote}"
    )
    assert (code, out, err) == (0, said + NEXT, "")
    assert json.loads(world.local.read_text()) == expected("local")
    assert sorted(world.tree()) == [
        "home/.claude/agents/hostbridge-reader.md",
        "pro ject/.claude/settings.local.json",
    ]


def test_install_where_no_repository_is(world):
    """The project is then one folder, which may be / by mistake."""
    (world.project / ".git").rmdir()

    _, out, _ = world.run("install")

    assert f"  no .git is here or above: the project is {world.project} alone\n" in out


def test_install_for_every_project(world):
    code, out, err = world.run("install", "--user")

    said = f"installed for you, in every project: {MANY} hooks in {world.user}\n{RUN}"
    said += world.wrote
    assert (code, out, err) == (0, said + NEXT, "")
    assert json.loads(world.user.read_text()) == expected("user")


def test_install_for_the_project_names_no_path(world):
    """The file is committed: it must mean the same on any machine."""
    code, out, err = world.run("install", "--project")

    said = (
        "installed for everyone who works on this project and has hostbridge: "
        f"{MANY} hooks in {world.shared}\n{RUN}"
        "  commit that file; it does nothing on a machine without hostbridge\n"
        "  it counts for sessions that are started in the project's top folder\n"
        f"{world.wrote}"
    )
    assert (code, out, err) == (0, said + NEXT, "")
    text = world.shared.read_text()
    assert json.loads(text) == expected("project")
    for path in (world.root, hooks_folder(), sys.prefix):
        assert str(path) not in text
    pointer = world.home / ".hostbridge" / "hooks.sh"
    assert stat.S_IMODE(pointer.stat().st_mode) == 0o600


def test_what_a_committed_install_passes_on(tmp_path):
    """The class of the tools, too: without it each call starts Python for any rule."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks/tool-start").write_text('printf "%s|" "$@"')
    InstallRecords(tmp_path / "home").write_pointer(tmp_path / "hooks", "/python")
    hook = Hook("PreToolUse", "tool-start", tools="bash")

    env = {"BRIDGE_HOME": str(tmp_path / "home")}
    done = ran("/bin/sh", *PROJECT.arguments(hook), env=env)

    assert done.stdout == "PreToolUse|project|/python|bash|"


def settings_of(world, text=MINE):
    """The local settings, as their user has them."""
    world.local.parent.mkdir()
    world.local.write_text(text)


def refused(world, *words, code=1):
    """What an install that changes nothing complains of."""
    before = world.tree()
    done = world.run(*words or ("install",))
    assert (done[:2], world.tree()) == ((code, ""), before)
    return done[2].removeprefix("hostbridge: ").removesuffix("\n")


def test_nobody_else_may_write_to_what_is_installed(world):
    """Whatever the umask, and whatever an earlier install left: it is run."""
    before = os.umask(0)
    try:
        for kind in ("--local", "--user", "--project"):
            world.run("install", kind)
        world.shared.chmod(0o666)
        world.carrier.chmod(0o666)
        world.shared.write_text("{}")
        world.run("install", "--project")
        world.run("agents", "new", "mine")
        world.run("agents", "new", "ours", "--project")
        world.run("rules", "new")
    finally:
        os.umask(before)

    ours = [path for path in world.root.rglob("*") if path.name not in STAGE]
    open_to_others = [path for path in ours if path.stat().st_mode & 0o022]
    assert open_to_others == []


def test_what_the_client_drops_is_told(world):
    """The hooks stand there, and no session runs them: `status` and `ask` say so."""
    settings_of(world, '{"cleanupPeriodDays": "x"}')
    fault = f"Claude Code drops the whole of {world.local}: cleanupPeriodDays: "
    fault += "expected a whole number above 0, got 'x'"

    code, _, err = world.run("install")
    _, status, _ = world.run("status")
    asked = world.run("ask", "Are you there?")

    after = "none of its hooks runs before that is corrected"
    assert (code, err) == (0, f"hostbridge: {fault}; {after}\n")
    assert fault in " ".join(status.split())
    way = f"correct that, then start `claude` in {world.project}"
    assert asked[0] == 4
    assert asked[2].startswith(f"hostbridge: {fault}\n  what to do:\n    - {way}\n")


def test_installing_twice_is_installing_once(world):
    settings_of(world)
    world.run("install")
    before = world.tree()

    code, out, err = world.run("install")

    said = f"installed already, for you, in this project: {world.local} is as it was\n"
    said += RUN
    assert (code, out, err) == (0, said + NEXT, "")
    assert world.tree() == before


def test_install_from_a_folder_below_is_for_the_project(world):
    """The client reads the local settings of the repository's top from there, too."""
    below = world.project / "src" / "deep"
    below.mkdir(parents=True)

    world.run("install", cwd=below)

    assert json.loads(world.local.read_text()) == expected("local")


def test_install_after_a_move_replaces_what_leads_nowhere(world):
    """And uninstall then still gives back the bytes of before the first install."""
    settings_of(world)
    before = world.tree()
    world.run("install")
    moved = world.local.read_text().replace(str(hooks_folder()), "/gone/hooks")
    world.local.write_text(moved.replace(sys.executable, "/gone/python"))

    world.run("install")
    after = world.local.read_text()
    world.run("uninstall")

    assert "/gone" not in after
    assert json.loads(after)["hooks"]["Stop"] == [
        json.loads(MINE)["hooks"]["Stop"][0],
        *expected("local")["hooks"]["Stop"],
    ]
    assert world.tree() == before


def test_a_link_stays_a_link(world):
    """Dotfile managers keep settings elsewhere; mode and place stay theirs."""
    kept = world.root / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text(MINE)
    kept.chmod(0o640)
    world.user.parent.mkdir()
    world.user.symlink_to("../../dotfiles/claude.json")

    code, out, _ = world.run("install", "--user")
    between = json.loads(kept.read_text())["hooks"]["SessionStart"]
    world.run("uninstall")

    assert code == 0
    assert f"  (a link; what was changed is {kept})\n" in out
    assert between == expected("user")["hooks"]["SessionStart"]
    assert os.readlink(world.user) == "../../dotfiles/claude.json"
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (MINE, 0o640)
    assert os.listdir(kept.parent) == ["claude.json"]


def test_a_link_that_leads_nowhere_yet_is_followed(world):
    world.user.parent.mkdir()
    world.user.symlink_to(world.root / "later.json")

    world.run("install", "--user")
    made = (world.root / "later.json").exists()
    world.run("uninstall")

    assert made
    assert world.user.is_symlink()
    assert not (world.root / "later.json").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{\n  // mine\n}", ":2:3: a comment, for which JSON has no room"),
        ('{"hooks": []}', ": hooks: expected an object, got a list"),
        ('{"a": "\udcff"}', ":1: not UTF-8"),
    ],
)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_error_settings_that_cannot_be_read(world, command, text, problem):
    """Nothing is guessed, nothing is touched."""
    world.local.parent.mkdir()
    world.local.write_bytes(os.fsencode(text))

    complaint = f"{world.local}{problem}; nothing was changed"
    assert refused(world, command) == complaint


def test_error_read_only_settings(world):
    settings_of(world)
    world.local.chmod(0o444)

    assert refused(world) == (
        f"{world.local}: read-only (mode 0444); nothing was changed. If it is yours to "
        f"change: chmod u+w '{world.local}'"
    )


def test_error_settings_that_the_client_writes_meanwhile(world, monkeypatch):
    """A slow disk gives it time between our look and our change."""
    settings_of(world)
    sync = os.fsync

    def client_writes(fd):
        if world.local.read_text() == MINE and list(world.local.parent.glob(".*.tmp")):
            world.local.write_text('{"model": "haiku"}')
        sync(fd)

    monkeypatch.setattr(os, "fsync", client_writes)

    done = world.run("install")

    complaint = f"hostbridge: {world.local}: changed just now; try again\n"
    assert done == (1, "", complaint)
    assert world.local.read_text() == '{"model": "haiku"}'
    assert os.listdir(world.local.parent) == [world.local.name]


def test_error_settings_are_a_folder(world):
    world.local.mkdir(parents=True)

    complaint = f"{world.local}: not a plain file; nothing was changed"
    assert refused(world) == complaint


def test_error_two_scopes_at_once(world):
    assert refused(world, "install", "--user", "--project", code=2) == (
        "--user and --project exclude each other; run install once for each"
    )


def test_error_home_that_others_can_write_to(world):
    """What is remembered there is executed, or written back, later."""
    home = world.home / ".hostbridge"
    home.mkdir()
    home.chmod(0o777)

    way = f"others can write to it (mode 0777); run: chmod 700 {home}"
    assert refused(world) == f"{home}: {way}"


CHANGE = """\
--- {file}
+++ {file}
@@ -1,3 +1,701 @@
 {{
-  "model": "opus"
+  "model": "opus",
+  "hooks": {{
+    "SessionStart": [
+      {{
"""


def test_dry_run_shows_the_change_and_makes_none(world):
    settings_of(world, '{\n  "model": "opus"\n}\n')
    before = world.tree()

    code, out, err = world.run("install", "--dry-run")

    assert (code, err, world.tree()) == (0, "", before)
    assert out.startswith(CHANGE.format(file=world.local))
    assert f"  would write {world.carrier}: " in out


@pytest.mark.parametrize("link", [".claude", ".claude/settings.local.json"])
def test_error_a_link_out_of_the_project(world, tmp_path, link):
    """The user's own settings may lie elsewhere; a project may be somebody else's."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "settings.local.json").write_text("{}")
    place = world.project / link
    place.parent.mkdir(exist_ok=True)
    is_folder = link == ".claude"
    place.symlink_to(other if is_folder else other / "settings.local.json")

    done = world.run("install")

    assert "which is not in the project" in str(done)
    assert (other / "settings.local.json").read_text() == "{}"
