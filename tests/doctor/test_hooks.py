"""Hooks: registered once, in one piece, allowed to run, and able to."""

import json
import re
import subprocess
import sys
import venv
from itertools import accumulate
from types import SimpleNamespace

import pytest
from pinworld import pin

from bridge.doctor import hook_run, hooks
from bridge.doctor.examine import examine
from bridge.doctor.finding import Verdict, ok, problem, warning
from bridge.host.hook_table import HOOKS, entries, form_of
from bridge.shipped import hooks_folder

pytestmark = pytest.mark.slow

SILENT = "hostbridge was moved or removed; its hooks do nothing"


def test_no_registration_is_a_problem(patient):
    assert patient.only(hooks.registered) == problem(
        f"not registered for {patient.project}",
        "without hooks no session sees a request",
        "hostbridge install",
    )


@pytest.mark.parametrize("kind", ["local", "user", "project"])
def test_one_registration_is_right(patient, kind):
    file = patient.install(kind)

    assert patient.only(hooks.registered) == ok(f"registered once: --{kind} ({file})")


def test_more_than_one_is_named(patient):
    local = patient.install("local")
    user = patient.install("user")
    content = json.loads(user.read_text())
    patient.write(
        user, content | {"enabledPlugins": {"hostbridge@market": True, "x@y": True}}
    )

    (finding,) = patient.found(hooks.registered)

    assert finding == warning(
        f"registered 3 times: --local ({local}); --user ({user}); plugin "
        f"hostbridge@market ({user})",
        "each tool call starts all of them, though only one acts",
        "remove one registration: hostbridge uninstall --user",
    )


def test_a_plugin_that_acts_for_a_session_counts(patient):
    """With --plugin-dir nothing else shows it."""
    patient.state.mkdir(parents=True)
    pin(patient.bridge, "one", "plugin", patient.state)

    assert patient.only(hooks.registered) == ok(
        "registered once: plugin, by --plugin-dir"
    )


@pytest.mark.parametrize("kind", ["local", "project"])
def test_paths_that_are_gone_are_named(patient, kind):
    """Of a committed install, that is the pointer that each machine has."""
    python = "/gone/bin/python" if kind == "local" else sys.executable
    file = patient.install(kind, python=python)
    gone = python if kind == "local" else patient.bridge / "hooks.sh"
    if kind == "project":
        gone.unlink()

    (finding, _) = patient.found(hooks.registered)

    assert finding == problem(
        f"{file} names missing files: {gone}",
        SILENT,
        f"hostbridge install --{kind}, or hostbridge uninstall --{kind}",
    )


def test_an_edited_registration_is_noticed(patient):
    file = patient.install("local")
    content = json.loads(file.read_text())
    del content["hooks"]["Stop"]
    patient.write(file, content)

    (finding, _) = patient.found(hooks.registered)

    assert finding == warning(
        f"{file} holds {len(HOOKS) - 2} hooks, not as this hostbridge would register "
        "them",
        "another version or installation registered them, or an edit did",
        "hostbridge install --local",
    )


LOCAL, USER = "project/.claude/settings.local.json", "home/.claude/settings.json"
REMOVE, ASK = "remove {} from {}", "ask your administrator to take {} out of {}"
ONLY = "strictPluginOnlyCustomization"
PARTS = ["skills", "hooks"]
POLICIES = {
    "local": (LOCAL, "disableAllHooks", True, REMOVE),
    "user": (USER, "disableAllHooks", True, REMOVE),
    "managed": ("managed/managed-settings.json", "allowManagedHooksOnly", True, ASK),
    "managed part": ("managed/managed-settings.d/10.json", ONLY, PARTS, ASK),
}


@pytest.mark.parametrize(
    ("place", "key", "value", "cure"), POLICIES.values(), ids=POLICIES
)
def test_error_hooks_are_not_allowed(patient, place, key, value, cure):
    patient.write(patient.root / place, {key: value})

    assert patient.only(hooks.allowed) == problem(
        f"{patient.root / place} sets {key}",
        "with it, Claude Code does not run hooks like these",
        cure.format(key, patient.root / place),
    )


def test_policies_of_an_administrator_count_only_there(patient):
    patient.write(
        patient.local, {"allowManagedHooksOnly": True, "disableAllHooks": False}
    )

    (finding,) = patient.found(hooks.allowed)

    assert finding.verdict is Verdict.OK


def test_error_settings_that_the_client_cannot_read(patient):
    patient.local.parent.mkdir()
    patient.local.write_text('{\n  "a": 1,\n}')

    assert patient.only(hooks.allowed) == problem(
        f"{patient.local}:3:1: expected a key in double quotes",
        "Claude Code ignores settings that it cannot read",
        f"correct {patient.local}, then: hostbridge install",
    )


def test_error_settings_that_the_client_drops(patient):
    patient.install("local")
    settings = json.loads(patient.local.read_text())
    patient.write(patient.local, settings | {"permissions": {"deny": "Agent"}})

    assert patient.only(hooks.allowed) == problem(
        f"Claude Code drops the whole of {patient.local}: permissions.deny: expected a "
        "list, got 'Agent'",
        "its hooks do not run, and its permissions do not count",
        f"correct that in {patient.local}",
    )


@pytest.fixture
def clock(monkeypatch):
    """Set how long the timed runs take: seconds, in order."""

    def set_durations(durations):
        ticks = accumulate(part for each in durations for part in (1.0, each))
        fake = SimpleNamespace(perf_counter=lambda: next(ticks))
        monkeypatch.setattr(hook_run, "time", fake)

    return set_durations


@pytest.mark.parametrize("kind", ["local", "user", "project", None])
def test_registered_hooks_are_started(patient, clock, kind):
    """As the client starts them; nothing of it is left, least of all in our home."""
    clock([0.002] * 2 + [0.001] * 2)
    if kind:
        patient.install(kind)
    before = sorted(patient.root.rglob("*"))

    (finding,) = patient.found(hook_run.run)

    name = f"--{kind}" if kind else "as they would be registered"
    assert finding.verdict is Verdict.OK, finding
    found = re.sub(r"has \d+ of", "has N of", finding.found)
    assert found == (
        f"{name}: they start; an idle tool call costs 2.0 ms, starting a bare shell "
        "1.0 ms (best of 2); an offer has N of the 10,000 characters that the client "
        "lets through"
    )
    assert sorted(patient.root.rglob("*")) == before


# The best run is the hook's cost, not what else the machine does meanwhile.
COSTS = [([0.5, 0.002], Verdict.OK), ([0.027] * 2, Verdict.WARNING)]


@pytest.mark.parametrize(("runs", "verdict"), COSTS, ids=["once", "always"])
def test_hooks_that_are_slow(patient, clock, runs, verdict):
    patient.install()
    clock(runs + [0.001] * 2)

    (finding,) = patient.found(hook_run.run)

    assert finding.verdict is verdict, finding


def test_error_hooks_with_a_python_that_has_no_hostbridge(patient):
    bare = patient.root / "bare"
    venv.create(bare, with_pip=False)
    python = bare / "bin" / "python"
    patient.install("local", python=str(python))

    (finding,) = patient.found(hook_run.run)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found == (
        f"--local: hostbridge: {python} cannot start it (No module named "
        "'orjson'): install it there, or `hostbridge uninstall --local` elsewhere"
    )


def test_error_hooks_whose_scripts_are_gone(patient):
    form = form_of("user", patient.root / "gone", sys.executable)
    patient.write(patient.home / ".claude" / "settings.json", {"hooks": entries(form)})

    (finding,) = patient.found(hook_run.run)

    assert finding.found == (
        "--user: SessionStart printed nothing: its scripts or its Python are missing"
    )


def test_error_an_older_version_registered_the_hooks(patient):
    """As after an update: they start, and hear nothing of the events that are new."""
    file = patient.install("user")
    older = json.loads(file.read_text())
    del older["hooks"]["PreSkillShellCommand"]
    patient.write(file, older)

    assert patient.only(hook_run.run) == problem(
        "--user: nothing is registered for PreSkillShellCommand",
        "another version registered the hooks, which hear nothing of that",
        "hostbridge install --user",
    )


def test_error_an_offer_that_the_client_would_cut(patient, monkeypatch):
    """The model would see only its beginning, and not know whom to start."""
    patient.install("local")
    monkeypatch.setattr(hook_run, "CLIENT_CAP", 100)

    (finding,) = patient.found(hook_run.run)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found.endswith("characters; the client cuts it at 100")


def test_a_plugin_beside_settings_is_seen(patient):
    """Settings do not name it; the command line of the open session does."""
    local = patient.install("local")
    plugin = hooks_folder().parent
    with subprocess.Popen(["sleep", "600"]) as plain:
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        line = [*sleep, "--plugin-dir", str(plugin)]
        with subprocess.Popen(line) as client:
            for process, name in ((plain, "s1"), (client, "s2")):
                patient.opens(name, process.pid)
            (finding,) = patient.found(hooks.registered)
            client.kill()
        plain.kill()

    assert finding == warning(
        f"registered 2 times: --local ({local}); plugin, by --plugin-dir ({plugin})",
        "each tool call starts all of them, though only one acts",
        "remove one registration: hostbridge uninstall --local",
    )


def test_a_file_that_an_install_cannot_change_comes_before_the_install(patient):
    """The other order named a command that fails."""
    patient.local.parent.mkdir()
    patient.local.write_text("{")

    sick = [each for each in examine(patient.seen()) if each.verdict is Verdict.PROBLEM]

    assert [each.name for each in sick[:2]] == ["hook policy", "hooks"]
    assert sick[0].cure == f"correct {patient.local}, then: hostbridge install"
