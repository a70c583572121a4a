"""What a route cannot take, or is not there for: said before anything is asked."""

import json
import os
import socket

import needs
import pytest
from ggufs import gguf
from validatorworld import change


def test_error_no_claude(project):
    """Nothing is asked of nobody."""
    project.env["BRIDGE_CLAUDE"] = "no-such-claude"

    ran = project.run("ask", "--route", "claude", "Which?", "--json")

    message = (
        "route claude: no program 'no-such-claude' can be run; install Claude Code, or "
        "name its program in BRIDGE_CLAUDE"
    )
    assert (ran.code, ran.err) == (4, f"hostbridge: {message}\n")
    assert ran.json["error"] == {"code": "no_route", "message": message, "stage": None}
    assert project.bridge.overview().waiting == 0


WITHOUT_A_SESSION = {
    "any": ("ask", "Explore", "Which?"),
    "no local": ("ask", "validator-logic", "Which?"),
    "one has no local": ("validate", "--with", "validator-syntax,validator-logic"),
    "none": ("ask", "here", "Which?"),
}
# What each is told, of the routes that could answer it here.
NAMED = {
    "any": "`--route local` (a local model), `--route claude` (claude -p) or `--route "
    "endpoint`, or BRIDGE_CLI_FALLBACK for every ask",
    "no local": "`--route claude` (claude -p) or `--route endpoint`",
    "one has no local": "`--route claude` (claude -p) or `--route endpoint`",
}


@pytest.mark.parametrize("which", WITHOUT_A_SESSION)
def test_without_a_session_only_routes_that_the_agents_take_are_named(project, which):
    """Whoever follows the advice would be refused once more."""
    change(project)
    project.write("agents/here.yaml", "name: here\nroutes: [host]\n", own=True)

    ran = project.run(*WITHOUT_A_SESSION[which])

    begin = "    - have it answered here: "
    named = [
        line.removeprefix(begin)
        for line in ran.err.splitlines()
        if line.startswith(begin)
    ]
    assert ran.code == 4, ran
    assert named == ([NAMED[which]] if which in NAMED else [])


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("./m.gguf", "{here}/m.gguf"),
        ("m.gguf", "{here}/m.gguf"),
        ("../out.gguf", "{here}/../out.gguf"),
        ("./gone.gguf", "{here}/gone.gguf"),
        ("both.gguf", "both.gguf"),
        ("./both.gguf", "{here}/both.gguf"),
        ("sub/home.gguf", "sub/home.gguf"),
        ("gone.gguf", "gone.gguf"),
        pytest.param("x" * 300 + ".gguf", "x" * 300 + ".gguf", id="long"),
    ],
)
def test_a_model_file_is_looked_for_where_one_is(project, model, asked):
    """Not where the request is served; what lies about hides no model of the user's."""
    here = project.folder / "here"
    home = project.bridge.settings.home / "models"
    files = (here / "m.gguf", here / "both.gguf", here.parent / "out.gguf")
    for file in (*files, home / "both.gguf", home / "sub" / "home.gguf"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gguf())

    ran = project.run("submit", "--route", "local", "--model", model, "x", cwd=here)

    path = os.path.normpath(asked.format(here=here))
    assert project.bridge.status(ran.out.strip()).request.model == path


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("./m.gguf", "{here}/m.gguf: not a GGUF file but a zip archive"),
        (
            "{here}/gone.gguf",
            "model '{here}/gone.gguf': {here}/gone.gguf: ",
        ),
    ],
    ids=["no model", "not there"],
)
def test_error_a_model_file_that_is_none(project, model, said):
    """Which files there are is known before anything is written."""
    here = project.write("m.gguf", "PK\3\4").parent
    named = model.format(here=here)

    ran = project.run("ask", "--route", "local", "--model", named, "x")

    ran.refuses(2, said.format(here=here))
    assert not list(project.state.glob("*/*.json"))


@pytest.mark.parametrize("command", ["ask", "submit"])
def test_error_a_schema_that_no_local_model_can_be_held_to(project, command):
    """The asker's own schema is to blame, at its place; and no definition."""
    needs.local_model()
    name = {"type": "string", "pattern": "(?<=a)b"}
    schema = project.folder / "s.json"
    schema.write_text(json.dumps({"type": "object", "properties": {"name": name}}))

    ran = project.run(command, "--route", "local", "--schema", str(schema), "x")

    said = "hostbridge: schema.properties.name: a local model cannot be held to it: "
    ran.refuses(2, said, "look-behind, is not supported")
    assert not list(project.state.glob("*/*.json"))


@pytest.mark.parametrize("named", [["--model", "openai:m"], []], ids=["named", "not"])
def test_error_no_server_is_no_route(project, named):
    """Nobody is there who could answer: as with no session open."""
    pytest.importorskip("openai")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        project.env["BRIDGE_OPENAI_BASE_URL"] = url
        ran = project.run("ask", "--route", "endpoint", *named, "x")

    ran.refuses(4, f"no server at {url}/: ")


@pytest.mark.parametrize("name", ["validator-logic", "validator-security"])
def test_error_a_judge_and_the_local_route(project, name):
    """A small model would approve what it cannot judge; nothing was asked."""
    ran = project.run("ask", name, "The change to a.py", "--route", "local")

    ran.refuses(2, f"agent '{name}' does not take the route local")
    assert project.bridge.overview().waiting == 0
