"""What makes the client drop a settings file: as told, and as the client does."""

import json

import needs
import pytest
from hostworld import HOOKS

from bridge.bound.call_notes import SKILL_COMMAND
from bridge.host.hook_table import entries, form_of
from bridge.host.settings_faults import find_fault
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print

RUN = {"type": "command", "command": "true"}


def guard(*groups, event="PreToolUse"):
    return {"hooks": {event: list(groups)}}


def hook(**fields):
    return {"hooks": [{**RUN, **fields}]}


GUARD = "hooks.PreToolUse[0]"
# With the place that is told.
FAULTS = [
    ({"cleanupPeriodDays": 0}, "cleanupPeriodDays"),
    ({"cleanupPeriodDays": 1.5}, "cleanupPeriodDays"),
    ({"model": None}, "model"),
    ({"verbose": "yes"}, "verbose"),
    ({"env": ["A=1"]}, "env"),
    ({"companyAnnouncements": "x"}, "companyAnnouncements"),
    ({"tui": "zz"}, "tui"),
    ({"enabledPlugins": {"a@b": 3}}, "enabledPlugins.a@b"),
    ({"statusLine": {"type": "command"}}, "statusLine.command"),
    ({"permissions": {"deny": "Agent"}}, "permissions.deny"),
    (
        {"permissions": {"additionalDirectories": [1]}},
        "permissions.additionalDirectories",
    ),
    ({"permissions": {"defaultMode": "zz"}}, "permissions.defaultMode"),
    (guard(RUN), f"{GUARD}.hooks"),
    (guard(None), GUARD),
    (guard({"hooks": ["true"]}), f"{GUARD}.hooks[0]"),
    (guard({"matcher": 3, "hooks": [RUN]}), f"{GUARD}.matcher"),
    (guard(hook(command=3)), f"{GUARD}.hooks[0].command"),
    (guard(hook(timeout=0)), f"{GUARD}.hooks[0].timeout"),
    (guard(hook(args="x")), f"{GUARD}.hooks[0].args"),
    (guard(RUN, event="PermissionRequest"), "hooks.PermissionRequest[0].hooks"),
    (guard(RUN, event=SKILL_COMMAND), f"hooks.{SKILL_COMMAND}[0].hooks"),
]
HARMLESS = [
    {},
    {"unknown": None},
    {"env": {"A": 1}},
    {"enabledPlugins": {"a@b": ["1"]}},
    {"permissions": {"allow": [1, "Bash("], "zz": 1}},
    {"permissions": {"defaultMode": "manual"}, "cleanupPeriodDays": 30.0},
    guard(RUN, None, hook(type="x", timeout="5"), event="Stop"),
    {"hooks": {"Nope": 3, **guard(hook(zz=1))["hooks"]}},
    {"hooks": entries(form_of("local", HOOKS, "python3"))},
]


@pytest.mark.parametrize(("settings", "place"), FAULTS)
def test_what_has_it_dropped_is_named(settings, place):
    assert str(find_fault(settings)).partition(": ")[0] == place


def test_what_was_expected_is_said():
    settings = {"permissions": {"allow": {"Bash": True}}}

    fault = "permissions.allow: expected a list, got an object"
    assert find_fault(settings) == fault


@pytest.mark.parametrize("settings", HARMLESS)
def test_what_does_no_harm_is_no_fault(settings):
    assert find_fault(settings) is None


def _runs(stage, settings):
    """Whether the client runs a hook that stands beside these settings."""
    begun = stage.project / "begun"
    begun.unlink(missing_ok=True)
    hook = {"type": "command", "command": 'touch "$CLAUDE_PROJECT_DIR/begun"'}
    hooks = {**settings.get("hooks", {}), "SessionStart": [{"hooks": [hook]}]}
    stage.settings({**settings, "hooks": hooks})
    run_print(stage, "hello")
    return begun.exists()


@pytest.mark.host
def test_the_client_drops_these_files_and_no_others(tmp_path):
    """One of each kind here; of the others, all the table above says was measured."""
    dropped = [each for each, _ in FAULTS[::5]]
    with ScriptedApi(obedient_model()) as api:
        stage = Stage(tmp_path, api, program=needs.client())
        ran = [_runs(stage, each) for each in [*HARMLESS[-3:-1], *dropped]]

    assert ran == [True] * 2 + [False] * len(dropped), json.dumps(dropped)
