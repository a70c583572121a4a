"""`hostbridge agents list|show`, and asking an agent that is defined."""

import json

import pytest
from agentworld import define, trust_project

from bridge.shipped import agents_folder

pytestmark = pytest.mark.slow

GOOD = "name: worker\ndescription: Works\nprompt: 'As told: {{ task }}'\n"
CLIENTS = [
    "Explore", "Plan", "claude", "claude-code-guide", "general-purpose",
    "statusline-setup",
]  # fmt: skip
OTHERS = sorted([*CLIENTS, *(file.stem for file in agents_folder().glob("*.yaml"))])


def mine(out):
    """The lines of the table that every project has not."""
    table = out.partition("\n\n")[0].splitlines()[1:]
    return [line for line in table if line.split("\t")[0] not in OTHERS]


def test_list(project):
    """By name, what wins first; a project's own waits for trust."""
    define(project, "worker.yaml", GOOD, layer="user")
    define(project, "worker.yaml", GOOD)

    ran = project.run("agents", "list")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("AGENT\tFROM\tROUTES\tWHAT IT IS\n")
    assert mine(ran.out) == [
        "worker\t.bridge\t\tnot trusted",
        "worker\t~/.hostbridge\t\thidden: the one from .bridge is used",
    ]
    assert (
        "\nresearcher\tbuilt-in\tall\tAnswers a question about the project, or about "
        "a task of it, from its files\n"
    ) in ran.out
    assert ran.out.endswith(
        "\nnot trusted: does nothing until you agree, with: hostbridge trust\n"
    )


def test_a_description_of_several_lines_is_one_line(project):
    text = "name: worker\ndescription: |\n  Looks.\n  Then acts.\nprompt: Go.\n"
    define(project, "worker.yaml", text, layer="user")

    listed = project.run("agents", "list").out
    shown = project.run("agents", "show", "worker").out

    assert "worker\t~/.hostbridge\tall\tLooks. Then acts\n" in listed
    assert shown.startswith("worker: Looks. Then acts.\n")


def test_list_has_the_agents_of_claude_code(project):
    """Each can be asked, too; one of ours of the same name wins."""
    define(project, "Plan.yaml", GOOD.replace("worker", "Plan"), layer="user")
    for folder, name in (("project", "joker"), ("home", "jester")):
        file = project.folder.parent / folder / ".claude" / "agents" / f"{name}.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: {name}\ndescription: Jokes\n---\nJoke.\n")

    lines = project.run("agents").out.splitlines()

    part = "part of Claude Code"
    for line in (
        f"Explore\tClaude Code\thost, claude\t{part}",
        f"general-purpose\tClaude Code\tall\t{part}; asked if no agent is named",
        "Plan\t~/.hostbridge\tall\tWorks",
        "Plan\tClaude Code\t\thidden: the one from ~/.hostbridge is used",
        "jester\t~/.claude\tall\tJokes",
        "joker\t.claude\thost\tnot trusted, but known to an open session",
    ):
        assert line in lines


def test_list_has_the_agents_of_plugins(project):
    """As the client records them: those of plugins that are enabled here."""
    claude = project.folder.parent / "home" / ".claude"
    for plugin in ("tidy", "gone"):
        folder = claude / "plugins" / "cache" / "shop" / plugin
        (folder / "agents" / "more").mkdir(parents=True)
        for file in ("sweeper.md", "more/deep.md"):
            text = f"---\nname: {file[:-3].split('/')[-1]}\ndescription: Sweeps\n---\n"
            (folder / "agents" / file).write_text(text)
    plugins = {
        f"{plugin}@shop": [{"installPath": str(folder.with_name(plugin))}]
        for plugin in ("tidy", "gone")
    }
    record = {"version": 2, "plugins": {**plugins, "odd@shop": "x"}}
    (claude / "plugins" / "installed_plugins.json").write_text(json.dumps(record))
    (claude / "settings.json").write_text(
        json.dumps({"enabledPlugins": {"tidy@shop": True, "gone@shop": True}})
    )
    ours = json.dumps({"enabledPlugins": {"gone@shop": False}})
    project.write(".claude/settings.local.json", ours)

    ran = project.run("agents")

    file = folder.with_name("tidy") / "agents" / "sweeper.md"
    assert mine(ran.out) == [f"tidy:sweeper\tplugin tidy\thost, claude\t{file}"]


def test_list_says_what_is_wrong_and_fails(project):
    file = define(project, "worker.yaml", GOOD + "tols: x\n", layer="user")

    ran = project.run("agents", "list")

    assert (ran.code, ran.err) == (1, "")
    assert mine(ran.out) == ["worker\t~/.hostbridge\t\tcannot be used: 1 error"]
    assert ran.out.endswith(
        f"\n\n{file}:4: tols: unknown field; did you mean 'tools'?\n"
    )


def test_list_json(project):
    file = define(project, "worker.yaml", GOOD)

    ran = project.run("agents", "list", "--json")

    *others, worker = map(json.loads, ran.out.splitlines())
    assert (ran.code, ran.err) == (0, "")
    assert [each["name"] for each in others] == OTHERS
    digest = worker.pop("digest")
    assert len(digest) == 64
    who = {"name": "worker", "layer": "project", "description": "Works"}
    source = {"file": str(file), "spelling": "yaml", "problems": []}
    routes = ["host", "claude", "local", "endpoint"]
    state = {"usable": False, "trusted": False, "hiddenBy": None}
    assert worker == {**who, **source, **state, "routes": routes}


def test_show(project):
    """screens/agents-show.txt has all that it may say."""
    more = "tools: [Bash]\nallow: ['Bash(ls *)']\ntimeout: 5\n"
    file = define(project, "worker.yaml", GOOD + more, layer="user")

    ran = project.run("agents", "show", "worker")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"worker: Works\n    file     {file}\n    routes   host")
    granted = "    granted  Bash(ls *): ls with any option, which can read any file\n"
    assert f"    timeout  5 s\n{granted}\nprompt:\n    As told: {{{{ task" in ran.out


def test_show_marks_a_model_that_is_not_there(project):
    file = define(project, "worker.yaml", f"{GOOD}model: small.gguf\n", layer="user")

    missing = project.run("agents", "show", "worker").out
    (file.parent / "small.gguf").write_text("GGUF")
    there = project.run("agents", "show", "worker").out

    assert f"    model   {file.parent}/small.gguf (missing)\n" in missing
    assert f"    model   {file.parent}/small.gguf\n" in there


def test_show_says_that_a_subagent_has_only_its_own_tools(project):
    form = "{type: object, additionalProperties: false}"
    file = define(
        project,
        "counter.yaml",
        "name: counter\nmodel: small.gguf\n"
        "initial_context: {system_prompt: You count., node_context: Count.}\ntools:\n"
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
        "broken: cannot be used\n    stays untrusted until it is corrected\n"
    )


def test_show_json_has_the_whole_definition(project):
    ran = project.run("agents", "show", "researcher", "--json")

    assert ran.code == 0
    assert ran.json["definition"]["tools"][:3] == ["Read", "Grep", "Glob"]
    assert ran.json["usable"]


def test_show_one_of_the_clients_own(project):
    project.run("agents", "show", "Explore").prints(
        0, "Explore: known to Claude Code; hostbridge has no definition of it\n"
    )


@pytest.mark.usefixtures("host")
def test_error_a_broken_definition_is_not_asked(project):
    file = define(project, "worker.yaml", GOOD + "tols: 1\n", layer="user")

    project.run("ask", "worker", "Hi").fails(
        2,
        "agent 'worker' cannot be used:\n"
        f"  | {file}:4: tols: unknown field; did you mean 'tools'?",
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


def test_error_an_argument_that_nothing_reads(project):
    """Mistyped, it would be as if not said."""
    ran = project.run("ask", "Explore", "Hi", "--set", "pakage=billing")

    ran.refuses(2, "say it in the prompt\n")
