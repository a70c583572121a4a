"""`hostbridge agents`: what is defined, where, and every problem with its place."""

from __future__ import annotations

import json

import needs
import pytest
from agentworld import define, trust_project

from bridge.shipped import agents_folder

GOOD = "name: worker\ndescription: Works\nprompt: 'As told: {{ task }}'\n"
BUILT_IN = sorted(file.stem for file in agents_folder().glob("*.yaml"))
WIDTH = max(map(len, BUILT_IN))


def last(out):
    """What stands below the built-in ones, of which there may be more some day."""
    assert [line.split()[0] for line in out.splitlines()[: len(BUILT_IN)]] == BUILT_IN
    return out.splitlines()[len(BUILT_IN) :]


def test_list(project):
    """By name, what wins first; a project's own waits for trust."""
    define(project, "worker.yaml", GOOD, layer="user")
    file = define(project, "worker.yaml", GOOD)

    ran = project.run("agents", "list")

    user = project.bridge.settings.home / "agents" / "worker.yaml"
    assert (ran.code, ran.err) == (0, "")
    assert last(ran.out) == [
        (
            f"{'worker':<{WIDTH}}  project   not trusted; look at it with: "
            "hostbridge trust"
        ),
        f"{'':<{WIDTH}}  user      {user}, hidden by {file}",
    ]
    assert (
        f"{'researcher':<{WIDTH}}  built-in  Answers a question about the project from "
        "its files, and names the places\n"
    ) in ran.out


def test_list_is_what_it_does_unasked(project):
    define(project, "worker.yaml", GOOD, layer="user")

    assert project.run("agents") == project.run("agents", "list")
    assert project.run("agents", "--json") == project.run("agents", "list", "--json")


def test_list_says_what_is_wrong_and_fails(project):
    file = define(project, "worker.yaml", GOOD + "tols: x\n", layer="user")

    ran = project.run("agents", "list")

    assert (ran.code, ran.err) == (1, "")
    assert last(ran.out) == [
        f"{'worker':<{WIDTH}}  user      cannot be used: 1 error",
        f"{'':<{WIDTH}}    {file}:4: tols: unknown field; did you mean 'tools'?",
    ]


def test_list_json(project):
    file = define(project, "worker.yaml", GOOD)

    ran = project.run("agents", "list", "--json")

    *others, worker = map(json.loads, ran.out.splitlines())
    assert (ran.code, ran.err) == (0, "")
    assert [each["name"] for each in others] == BUILT_IN
    digest = worker.pop("digest")
    assert len(digest) == 64
    assert worker == {
        "name": "worker",
        "layer": "project",
        "file": str(file),
        "spelling": "yaml",
        "description": "Works",
        "routes": ["host", "claude", "local", "endpoint"],
        "usable": False,
        "trusted": False,
        "hiddenBy": None,
        "problems": [],
    }


def test_show(project):
    more = "tools: [Bash]\nallow: ['Bash(ls *)']\ntimeout: 5\n"
    file = define(project, "worker.yaml", GOOD + more, layer="user")

    ran = project.run("agents", "show", "worker")

    ran.prints(
        0,
        f"""\
worker: Works
    file     {file}
    routes   host, claude, local, endpoint
    tools    Bash
    timeout  5 s
    granted  Bash(ls *): ls with any option, which can read any file

prompt:
    As told: {{{{ task }}}}
""",
    )


def test_show_a_subagent_says_that_it_has_no_tools_but_its_own(project):
    form = "{type: object, additionalProperties: false}"
    file = define(
        project,
        "counter.yaml",
        "name: counter\nmodel: small.gguf\n"
        "initial_context: {system_prompt: You count., node_context: Count.}\n"
        "tools:\n"
        "  - {name: submit_result, pym: a.pym, description: Ends, parameters: "
        f"{form}}}\n",
        layer="user",
    )
    (file.parent / "a.pym").write_text("'ok'\n")

    ran = project.run("agents", "show", "counter")

    assert "    tools               its own alone\n" in ran.out
    assert f"    tool submit_result  {file.parent}/a.pym\n" in ran.out


def test_show_says_what_is_not_trusted(project):
    """As the list does: what is shown does nothing yet."""
    define(project, "worker.yaml", GOOD)
    define(project, "broken.yaml", "name: broken\ntols: 1\n")

    worker = project.run("agents", "show", "worker")
    broken = project.run("agents", "show", "broken")
    trust_project(project.bridge)
    trusted = project.run("agents", "show", "worker")

    mark = "    not trusted; look at it with: hostbridge trust\n"
    assert worker.out == trusted.out.replace("Works\n", f"Works\n{mark}", 1)
    assert "trust" not in trusted.out
    assert broken.out.startswith(
        "broken: cannot be used\n    stays untrusted until it is mended\n"
    )


@pytest.mark.parametrize("what", ["everything", "file"])
def test_check_says_what_is_not_trusted(project, what):
    file = define(project, "worker.yaml", GOOD)
    words = ("agents", "check", *([str(file)] if what == "file" else []))
    count = 1 if what == "file" else len(BUILT_IN) + 1
    looked = f"{count} looked at: 0 errors, 0 warnings\n"

    ran = project.run(*words)
    trust_project(project.bridge)

    mark = "not trusted: worker; look with: hostbridge trust\n"
    assert ran == (0, looked + mark, "")
    assert project.run(*words) == (0, looked, "")


def test_show_json_has_the_whole_definition(project):
    ran = project.run("agents", "show", "researcher", "--json")

    assert ran.code == 0
    assert ran.json["definition"]["tools"] == ["Read", "Grep", "Glob"]
    assert ran.json["usable"]


def test_error_show_nobody(project):
    project.run("agents", "show", "researchr").fails(
        2, "no agent is named 'researchr'; did you mean researcher?"
    )


def test_show_one_of_the_clients_own(project):
    project.run("agents", "show", "Explore").prints(
        0, "Explore: known to Claude Code; hostbridge has no definition of it\n"
    )


@pytest.mark.parametrize("what", ["file", "folder"])
def test_check_a_path(project, what):
    """Before it is put anywhere; relative to where one is."""
    folder = project.folder / "drafts"
    folder.mkdir()
    (folder / "a.yaml").write_text("name: a\ntols: [Read]\nmodel: gone.gguf\n")
    (folder / "notes.txt").write_text("not one of them")

    ran = project.run(
        "agents", "check", "drafts/a.yaml" if what == "file" else "drafts"
    )

    models = project.bridge.settings.home / "models"
    ran.prints(
        1,
        f"{folder}/a.yaml:2: tols: unknown field; did you mean 'tools'?\n"
        f"{folder}/a.yaml:3: warning: model: there is no {folder}/gone.gguf "
        f"and no {models}/gone.gguf yet\n"
        "1 looked at: 1 error, 1 warning\n",
    )


@pytest.mark.parametrize("layer", ["user", "project"])
def test_check_finds_a_model_where_a_run_finds_it(project, layer):
    """In the models of the user, too, and with no word about where it is not."""
    file = define(project, "a.yaml", "name: a\nmodel: small.gguf\n", layer=layer)
    models = project.bridge.settings.home / "models"
    models.mkdir(parents=True)
    (models / "small.gguf").write_bytes(b"GGUF")

    ran = project.run("agents", "check", str(file))

    assert ran.code == 0
    assert ran.out.startswith("1 looked at: 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("routes", "code", "mark"),
    [("[local]", 1, ""), ("[host, local]", 0, "warning: ")],
)
def test_check_names_a_schema_that_no_model_can_be_held_to(project, routes, code, mark):
    """Where nobody else could answer it is an error, before anything is asked."""
    needs.local_model()
    odd = "{type: array, uniqueItems: true}"
    schema = f"output_schema: {{type: object, properties: {{a: {odd}}}}}\n"
    file = define(project, "a.yaml", f"name: a\nroutes: {routes}\n{schema}")

    ran = project.run("agents", "check", str(file))

    assert ran.code == code
    said = f"{file}:3: {mark}output_schema.properties.a: a local model cannot be "
    assert ran.out.startswith(said)


@pytest.mark.parametrize("tool", [0, 1])
def test_check_names_the_line_of_a_tools_parameters(project, tool):
    """Once, also where it is the form of the answer."""
    needs.local_model()
    forms = ["{type: object, additionalProperties: false}"] * 2
    forms[tool] = (
        "{type: object, additionalProperties: false, "
        "properties: {a: {type: array, uniqueItems: true}}}"
    )
    file = define(
        project,
        "counter.yaml",
        "name: counter\nmodel: counter.gguf\n"
        "initial_context: {system_prompt: You count., node_context: Count.}\n"
        "tools:\n"
        f"- {{name: a, pym: a.pym, description: x,\n   parameters: {forms[0]}}}\n"
        "- {name: submit_result, pym: a.pym, description: x,\n"
        f"   parameters: {forms[1]}}}\n",
        layer="user",
    )
    for name in ("a.pym", "counter.gguf"):
        (file.parent / name).write_text("1")

    ran = project.run("agents", "check", str(file))

    said = f"{file}:{6 + 2 * tool}: warning: tools[{tool}].parameters.properties.a: "
    assert ran.code == 0
    assert ran.out.startswith(f"{said}a local model cannot be held to it: ")
    assert ran.out.endswith("\n1 looked at: 0 errors, 1 warning\n")


def test_check_json(project):
    file = define(project, "a.yaml", "name: a\ntols: [Read]\n")

    ran = project.run("agents", "check", "--json")

    assert (ran.code, ran.json) == (
        1,
        {
            "file": str(file),
            "line": 2,
            "path": "tols",
            "level": "error",
            "message": "unknown field; did you mean 'tools'?",
        },
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show",), "show which one? try: hostbridge agents list"),
        (("list", "x"), "list takes no 'x'; try: agents show x"),
        (("check", "/nowhere"), "/nowhere: no such file or folder"),
    ],
)
def test_error_usage(project, words, message):
    assert project.run("agents", *words) == (2, "", f"hostbridge: {message}\n")


@pytest.mark.usefixtures("host")
def test_error_a_broken_definition_is_not_asked(project):
    file = define(project, "worker.yaml", GOOD + "tols: 1\n", layer="user")

    ran = project.run("ask", "worker", "Hi")

    ran.fails(
        2,
        "agent 'worker' cannot be used:\n"
        f"  {file}:4: tols: unknown field; did you mean 'tools'?",
    )


def test_ask_a_defined_agent(project, host):
    """Its form of answer, without --schema; arguments as text and as JSON."""
    more = "output_schema: {type: object, required: [n]}\ntimeout: 33\n"
    prompt = "prompt: '{{ arguments.a }} {{ arguments.b[0] + 1 }}: {{ task }}'\n"
    define(project, "worker.yaml", f"name: worker\n{prompt}{more}", layer="user")

    with host.serving('{"n": 1}') as seen:
        ran = project.run("ask", "worker", "Hi", "--set", "a=1.10", "--set", "b:=[1]")

    assert (ran.code, json.loads(ran.out), ran.err[:0]) == (0, {"n": 1}, "")
    [request] = seen
    assert (request.arguments, request.timeout) == ({"a": "1.10", "b": [1]}, 33_000)
    assert request.spoken == "1.10 2: Hi"


@pytest.mark.parametrize("agent", ["worker", "Explore"])
def test_error_an_argument_that_nothing_reads(project, agent):
    """Mistyped, it would be as if not said."""
    define(project, "worker.yaml", GOOD, layer="user")

    ran = project.run("ask", agent, "Hi", "--set", "pakage=billing")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("say it in the prompt\n")


@pytest.mark.parametrize("command", ["ask", "submit"])
def test_variables_win_over_the_definition_and_null_is_off(project, host, command):
    """As text and as JSON; what is off survives in the record."""
    more = "default_variables: {style: long, check: true, kept: 1}\n"
    prompt = "prompt: '{{ style }} {% if check %}check{% endif %} {{ task }}'\n"
    define(project, "worker.yaml", f"name: worker\n{prompt}{more}", layer="user")
    words = ("worker", "Hi", "--var", "style=short", "--var", "check:=null")

    with host.serving('{"status": "success", "summary": "ok"}') as seen:
        ran = project.run(command, *words)
        if command == "submit":
            project.run("wait", ran.out.strip())

    assert ran.code == 0
    [request] = seen
    assert request.variables == {"style": "short", "check": None, "kept": 1}
    assert request.spoken == "short  Hi"
