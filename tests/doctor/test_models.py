"""Routes without a session: what is there is reported, what is broken is a warning."""

import socket

import needs
import pytest
from ggufs import gguf

from bridge.doctor import models
from bridge.doctor.examine import CHECKS
from bridge.doctor.finding import Verdict, ok, warning
from bridge.errors import ExtraMissing
from bridge.extras import how_to_add

PROGRAM = "no program '{}' can be run".format


def claude_is_gone(program):
    return warning(
        f"cannot be used: {PROGRAM(program)}",
        "the settings name the route claude, and its program is not there",
        "install Claude Code, or name its program in BRIDGE_CLAUDE",
    )


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, ok(f"not set up: {PROGRAM('claude')}")),
        ({"BRIDGE_CLAUDE": "/nonexistent"}, claude_is_gone("/nonexistent")),
        ({"BRIDGE_CLI_FALLBACK": "claude"}, claude_is_gone("claude")),
    ],
    ids=str,
)
def test_no_program_of_the_route_claude(patient, env, found):
    """Only a user who named it is warned."""
    assert patient.found(models.claude, PATH=str(patient.root), **env) == [found]
    assert models.claude in dict(CHECKS).values()


@pytest.mark.parametrize("says", ["2.1.330 (Claude Code)", ""])
def test_the_program_of_the_route_claude(patient, says):
    program = patient.root / "other"
    program.write_text(f'#!/bin/sh\n[ "$*" = --version ] && echo "{says}"\n')
    program.chmod(0o755)
    silent = warning(
        f"{program} does not say its version",
        "it cannot be started, or is not Claude Code",
        f"try it: {program} --version; or name another in BRIDGE_CLAUDE",
    )

    found = patient.found(models.claude, BRIDGE_CLAUDE=str(program))

    assert found == [ok(f"{program} 2.1.330") if says else silent]


@pytest.fixture
def no_extra(monkeypatch):
    def missing():
        raise ExtraMissing("local", "llama-cpp-python")

    monkeypatch.setattr(models, "require_extra", missing)


@pytest.mark.usefixtures("no_extra")
def test_without_the_extra_nothing_is_wrong(patient):
    """The open session needs none of it."""
    assert patient.only(models.local, PATH=str(patient.root)) == ok(
        f"not set up: llama-cpp-python is not installed; run: {how_to_add('local')}"
        "; that needs a C++ compiler, and none is on PATH"
    )


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize(
    "env", [{"BRIDGE_CLI_FALLBACK": "1"}, {"BRIDGE_LOCAL_MODEL": "/x.gguf"}], ids=str
)
def test_warns_if_the_settings_name_the_local_route(patient, env):
    (found,) = patient.found(models.local, **env)

    assert found.verdict is Verdict.WARNING
    assert found.cure == how_to_add("local")


def test_the_model_and_what_it_keeps(patient):
    path = needs.local_model()
    folder = patient.bridge / "cache" / "prompts"
    folder.mkdir(parents=True)
    (folder / "m-1.state").write_bytes(bytes(3 << 20))

    small = "135 million parameters, small: its answers are marked degraded"
    assert patient.found(models.local) == [
        ok(f"{path} (comes with the extra), {small}"),
        ok(f"prompts kept: 3 of 1024 MiB, in {folder}"),
    ]


@pytest.mark.parametrize("where", ["cache", "cache/prompts"])
def test_prompts_that_cannot_be_kept(patient, where):
    needs.local_model()
    path = patient.bridge / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")

    found = patient.found(models.local)[-1]

    assert (found.verdict, found.found, found.cure) == (
        Verdict.WARNING,
        f"prompts are not kept: {path} is no folder",
        f"mv {path} {path}.aside",
    )


@pytest.mark.parametrize("own", [False, True])
def test_no_model_is_in_use(patient, monkeypatch, *, own):
    """A model that must be named answers no other request."""
    monkeypatch.setattr(models, "require_extra", lambda: None)
    monkeypatch.setattr("bridge.llama.model_files.find_spec", lambda _name: None)
    folder = patient.bridge / "models"
    folder.mkdir(parents=True)
    if own:
        (folder / "own.gguf").write_bytes(gguf({"general.architecture": "llama"}))

    found, _ = patient.found(models.local)

    assert found == warning(
        "no model is in use; by name only: own.gguf" if own else "no model",
        "the extra is installed without its default model",
        "fetch one: hostbridge models pull smollm2-1.7b; or name a file of yours: "
        "BRIDGE_LOCAL_MODEL=path.gguf",
    )


def test_a_file_that_is_no_model(patient):
    needs.local_model()
    file = patient.root / "x.gguf"
    file.write_bytes(b"PK\3\4")

    found, _ = patient.found(models.local, BRIDGE_LOCAL_MODEL=str(file))

    assert found.verdict is Verdict.WARNING
    assert found.found.startswith(f"{file} (BRIDGE_LOCAL_MODEL) is no model: ")


def test_no_endpoint_is_no_issue(patient):
    assert patient.only(models.endpoint) == ok(
        "not set up: BRIDGE_OPENAI_BASE_URL is not set"
    )


@pytest.fixture
def port():
    pytest.importorskip("openai")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken


@pytest.mark.parametrize("is_up", [True, False])
def test_a_server(patient, port, is_up):
    if is_up:
        port.listen()
    url = f"http://127.0.0.1:{port.getsockname()[1]}/v1"
    env = {"BRIDGE_OPENAI_BASE_URL": url, "BRIDGE_OPENAI_MODEL": "q"}
    down = warning(
        f"{url} takes no connection: connection refused",
        "the server is not running, or somewhere else",
        "start it, or correct BRIDGE_OPENAI_BASE_URL",
    )

    found = patient.found(models.endpoint, **env)

    assert found == [ok(f"{url} takes connections; model: q") if is_up else down]


def test_a_fallback_without_a_server(patient):
    (found,) = patient.found(models.endpoint, BRIDGE_CLI_FALLBACK="endpoint")

    assert found.verdict is Verdict.WARNING
    assert found.found.startswith("cannot be used: no server is set; set BRIDGE_OPENAI")
