"""What people see, at 60, 80 and 120 columns: each screen is a file in screens/."""

from dataclasses import replace
from pathlib import Path

from overviews import RUNS, STATE, ended, live, seen, session
from screens import same_as_file

from bridge.api.setting_files import Listed as Setting
from bridge.bound.budgets import HeldBack, Use
from bridge.cli.definitions.agent_list import ListedAgent, list_lines
from bridge.cli.records.status_text import overview_lines
from bridge.cli.records.where import where_lines
from bridge.cli.screen.screen import folded
from bridge.cli.setup import config
from bridge.cli.setup.doctor import screen
from bridge.cli.setup.models_text import advice_lines, model_lines, recommended_lines
from bridge.config import Settings
from bridge.doctor.finding import ok, problem, warning
from bridge.protocol.status import Stage
from bridge.store.location import Place


def test_status_of_nothing():
    same_as_file("status-empty", lambda w: overview_lines(seen(exists=False), w))


def test_status_of_every_stage():
    sessions = (
        session("0c5e2a9e-6b0f-4c55-8a53-0f3f1d6b7c11"),
        session("9f1b", is_off=True, off_s=4_000.0, wakes=False, running=0),
        session("7d2c", seen="unseen", running=0),
    )
    words = "テストのないモジュールは?"
    requests = (
        live(1, Stage.RUNNING, age_s=0.2, left_s=119.0),
        live(2, Stage.OFFERED, agent="Explore", requester="a hook"),
        live(3, Stage.INVALID_ANSWER, left_s=-3.0),
        live(4, Stage.RUNNING, route="local", is_abandoned=True),
        live(5, Stage.WAITING, priority="high", excerpt=words),
        live(6, Stage.NO_HOST, age_s=90_000.0, left_s=9_000.0, excerpt="Why?"),
    )
    last = (
        ended(1),
        ended(2, "failed", code="agent_failed"),
        ended(3, "timeout", code="timeout", duration_s=120.0, ago_s=7_300.0),
        ended(4, "cancelled", code="cancelled", excerpt=""),
    )
    facts = {"exists": True, "is_off_here": True, "unreadable": ("cut", "a b; touch c")}
    counts = {"claimed": 4, "waiting": 1_004, "ended": 1_234}
    lists = {"sessions": sessions, "requests": requests, "last": last, "runs": RUNS}
    busy = seen(**facts, **counts, **lists)
    same_as_file("status-busy", lambda w: overview_lines(busy, w))


def test_status_where_a_budget_holds_requests_back():
    why = (
        "session 0c5e has started 50 of 50 agents within an hour; the next may start "
        "in 25 min"
    )
    cure = "hostbridge config set agents_per_hour 100"
    key = "agents_per_hour"
    used = {"limit": key, "session": "0c5e", "used": 50, "most": 50}
    limit = HeldBack(**used, frees_in_s=1_500.0, why=why, cure=cure)
    budgets = (
        Use(key=key, used=50, most=50),
        Use(key="tokens_per_session", used=83, most=100),
    )
    sessions = (session("0c5e", running=0, started=50, budgets=budgets),)
    requests = tuple(live(n, Stage.WAITING, held_back=limit) for n in (1, 2))
    off = {"exists": True, "is_off": True, "off_s": 30.0}
    held = seen(**off, sessions=sessions, requests=requests, waiting=2)
    same_as_file("status-held-back", lambda w: overview_lines(held, w))


def model(name, **more):
    usual = {
        "path": Path(f"/home/u/.hostbridge/models/{name}.gguf"), "inUse": False,
        "found": "/home/u/.hostbridge/models", "problem": None, "whyNot": None,
        "parameters": 3_085_938_688, "quantization": "Q4_K_M", "bytes": 2_104_932_768,
        "contextLength": 32_768, "licence": "apache-2.0", "degraded": False,
    }  # fmt: skip
    return usual | more


def test_models():
    models = [
        model("Qwen2.5-3B-Instruct-Q4_K_M", inUse=True),
        model(
            "smollm2", parameters=134_515_008, degraded=True, bytes=100_000_000,
            found="with the extra local",
            test={
                "problem": None, "reply": "yes", "seconds": 1.23,
                "tokensPerSecond": 61.2,
            },
        ),
        model("cut", problem="the file ends in the middle of its header"),
    ]  # fmt: skip
    lines = [line for each in models for line in model_lines(each)]
    same_as_file("models", lambda w: folded(lines, w, whole_words=True))


def setting(key, value, source="default", usual="", meaning="how many"):
    variable = f"BRIDGE_{key.upper()}"
    return Setting(key, variable, value, source, meaning, usual)


def test_config_list():
    settings = [
        setting(
            "agents_per_hour", 400, "user file",
            meaning="agents that one session may start within an hour",
        ),
        setting("debug", value=False, meaning="log what each hook saw and did"),
        setting(
            "local_model", "/home/u/.hostbridge/models/Qwen2.5-3B-Q4.gguf",
            "BRIDGE_LOCAL_MODEL", meaning="the model of the route local",
        ),
        setting("openai_api_key", None, usual="none"),
    ]  # fmt: skip
    same_as_file("config-list", lambda w: config.list_lines(settings, w))


def test_where():
    why = "the state lies under ~/.hostbridge/state, at the same path as the project"
    home = Path("/home/u")
    place = Place(home / "app", Path(STATE), home / ".hostbridge", why)
    same_as_file("where", lambda w: where_lines(place, w, exists=False))


TAKES = "5f3c0a (pid 4711) takes requests and wakes from idle"


def named(name, finding):
    return replace(finding, name=name)


def test_doctor():
    python = named("python", ok("/usr/bin/python3 (3.11.7); hostbridge 0.1.0"))
    why, cure = "a request waits until its deadline", "start `claude` in /home/u/app"
    sessions = named("sessions", warning("no session is open", why, cure))
    registered = problem(
        "PostToolUse has another hook; see /home/u/app/.claude/settings.local.json",
        "hooks of another version of hostbridge are registered beside ours",
        "hostbridge uninstall && hostbridge install --local, in this project",
    )
    project = Path("/home/u/app")
    sick = [python, sessions, named("registered", registered)]
    well = [python, named("session", ok(TAKES))]
    same_as_file("doctor", lambda w: screen(sick, project, w, everything=False))
    same_as_file("doctor-all", lambda w: screen(sick, project, w, everything=True))
    same_as_file("doctor-well", lambda w: screen(well, project, w, everything=False))


def test_doctor_where_only_past_requests_failed():
    """They need no step first."""
    what = "1 of the last 3 ended with timeout: 1k0t: the deadline passed: no agent"
    failed = warning(what, "", "ask with a longer deadline (--timeout)")
    findings = [named("session", ok(TAKES)), named("answers", failed)]
    project = Path("/home/u/app")
    same_as_file(
        "doctor-past", lambda w: screen(findings, project, w, everything=False)
    )
    broken = named("session", warning("no session is open", "x", "open one"))
    repeated = named("answers", problem("3 of the last 3", "", "wait"))
    (first, *_) = screen([repeated, broken], project, 80, everything=False)
    assert first == "Do this first: open one"


def listed(name, place, routes, words, **more):
    return ListedAgent(name, place, routes, words, {}, **more)


def test_agents_list():
    everywhere = ("host", "claude", "local", "endpoint")
    file = "/home/u/app/.bridge/agents/broken.yaml"
    default = "part of Claude Code; asked if no agent is named"
    agents = [
        listed("Explore", "Claude Code", ("host", "claude"), "part of Claude Code"),
        listed(
            "broken", ".bridge", (), "cannot be used: 1 error", style="red",
            problems=(f"{file}:3: tols: unknown field; did you mean 'tools'?",),
        ),
        listed("general-purpose", "Claude Code", everywhere, default),
        listed("tidy:sweeper", "plugin tidy", ("host", "claude"), "/home/u/.claude/x"),
        listed("joker", ".claude", ("host",), "not trusted", style="yellow"),
        listed("researcher", "~/.hostbridge", ("host",), "Finds things in our wiki"),
        listed(
            "researcher", "built-in", (), style="dim",
            words="hidden: the one from ~/.hostbridge is used",
        ),
        listed("validator-integration", "built-in", everywhere, "Runs all the tests"),
    ]  # fmt: skip
    same_as_file("agents-list", lambda w: list_lines(agents, w))


def test_recommended_models():
    """That none of them was run here is said plainly."""
    same_as_file(
        "models-pull", lambda w: folded(recommended_lines(w), w, whole_words=True)
    )


def test_no_models():
    """The way out is one command, or two."""
    settings = Settings(home=Path("/home/u/.hostbridge"))
    missing = "llama-cpp-python is not installed; run: pip install -e '~/src/h[local]'"
    lines = list(advice_lines([], missing, settings))

    same_as_file("models-none", lambda w: folded(lines, w, whole_words=True))
