"""`hostbridge agents promote`: a temporary agent that stays."""

import json
import os

import pytest
from agentworld import define, trust_project
from flow.simulation import plan_of

from bridge.engine.begin import begin
from bridge.store import live_runs

ANSWER = '{"status": "success", "summary": "ok"}'
OWN = '$own := {base: "BASE", prompt: "You look for {{what:faults}}.", model: "opus"}'


@pytest.fixture
def flow(project):
    """Begin a run of a flow that has an agent of its own."""

    def begun(base="general-purpose", text=OWN, **options):
        plan = plan_of(text.replace("BASE", base) + ' $own:"Go"')
        with project.bridge.store.state() as state:
            return begin(state, plan, **options)

    return begun


def promote(project, *words, **options):
    return project.run("agents", "promote", *words, **options)


def home(project):
    return project.bridge.settings.home / "agents"


def end(project, run):
    with project.bridge.store.state() as state:
        live_runs.unmark(state, run)


def fields(file):
    head, words = file.read_text().removeprefix("---\n").split("\n---\n")
    return sorted(head.splitlines()), words


def test_it_is_kept_for_its_user_and_works(project, flow, request):
    """It passes the checks of any other, and answers."""
    run = flow()
    ran = promote(project, "own")

    file = home(project) / "own.md"
    assert ran.out == (
        f"{file}\nfrom run {run}\nthen:\n"
        "  hostbridge ask own 'Which modules lack tests?'\n"
    )
    assert fields(file) == (
        ["base: general-purpose", "description: From a flow", "model: opus",
         "name: own"],
        "You look for faults.\n",
    )  # fmt: skip
    assert project.run("agents", "check", str(file)).out == (
        "1 looked at: 0 errors, 0 warnings\n"
    )
    host = request.getfixturevalue("host")
    with host.serving(ANSWER) as seen:
        assert project.run("ask", "own", "Why?").code == 0
    assert seen[0].spoken == "You look for faults.\n\nWhy?"


def test_in_a_project_it_waits_for_trust(project, flow):
    """So a model may ask for it, too: it gives no rights before a person agrees."""
    flow()
    ran = promote(project, "own", "--to", "project", env={"CLAUDECODE": "1"})

    file = project.folder / ".bridge" / "agents" / "own.md"
    assert ran.out.splitlines()[0] == str(file)
    assert "  hostbridge trust\n  hostbridge ask own" in ran.out
    assert "which you have not trusted" in project.run("submit", "own", "Hi").err
    trust_project(project.bridge)
    assert project.run("submit", "own", "Hi").code == 0


@pytest.mark.parametrize("to", ["user", "claude"])
def test_error_a_model_cannot_give_its_user_an_agent(project, flow, to):
    flow()
    promote(project, "own", "--to", to, env={"CLAUDECODE": "1"}).fails(
        1,
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge agents promote own` in a terminal of your own",
    )
    assert not home(project).exists()
    assert not (project.bridge.settings.claude_dir / "agents").exists()


def test_the_newest_run_that_has_it_counts(project, flow):
    first, second = flow(params={"what": "one"}), flow(params={"what": "two"})
    flow(text='$own := {base: "Plan", prompt: "x"} ')

    third = json.loads(promote(project, "own", "--json").out)
    assert third["run"] not in (first, second)
    ran = promote(project, "$own", "--run", second, "--on-conflict", "overwrite")
    assert f"from run {second}\n" in ran.out
    assert fields(home(project) / "own.md")[1] == "You look for two.\n"
    again = promote(project, "own", "--on-conflict", "rename")
    assert f"from run {third['run']}, the newest of 3 that have it\n" in again.out


def test_json(project, flow):
    """An ended run still has it."""
    run = flow()
    end(project, run)

    file = home(project) / "own.md"
    wanted = {"name": "own", "file": str(file), "run": run, "to": "user"}
    assert json.loads(promote(project, "own", "--json").out) == wanted | {
        "written": True
    }
    skipped = promote(project, "own", "--json", "--on-conflict", "skip")
    assert json.loads(skipped.out) == wanted | {"written": False}


@pytest.mark.parametrize("name", ["own.md", "own.yaml", "other.md"])
def test_error_a_name_that_is_taken(project, flow, name):
    """By a file of that name, or by one that says it."""
    flow()
    taken = define(project, name, "name: own\nprompt: p\n", layer="user")

    promote(project, "own").fails(
        2,
        f"{taken} has the name 'own', and stays as it is; choose: --on-conflict "
        "rename, overwrite or skip",
    )


def test_a_conflict_is_solved_as_asked(project, flow):
    flow()
    promote(project, "own")
    file = home(project) / "own.md"
    file.write_text("mine")

    skipped = promote(project, "own", "--on-conflict", "skip")
    assert (skipped.code, file.read_text()) == (0, "mine")
    assert skipped.out == f"{file} has this name already, and stays as it is\n"

    for name in ("own-2", "own-3"):
        promote(project, "own", "--on-conflict", "rename")
        assert f"name: {name}" in fields(home(project) / f"{name}.md")[0]

    promote(project, "own", "--on-conflict", "overwrite")
    assert "name: own" in fields(file)[0]
    assert sorted(os.listdir(home(project))) == ["own-2.md", "own-3.md", "own.md"]


@pytest.mark.parametrize("kind", ["yaml", "link", "folder"])
def test_error_what_is_not_its_file_is_not_overwritten(project, flow, tmp_path, kind):
    """Nothing that is not ours is ever removed, and no link followed."""
    flow()
    folder = home(project)
    folder.mkdir(parents=True, mode=0o700)
    outside = tmp_path / "outside"
    outside.write_text("kept")
    if kind == "yaml":
        (folder / "own.yaml").write_text("name: own\n")
    elif kind == "link":
        (folder / "own.md").symlink_to(outside)
    else:
        (folder / "own.md").mkdir()

    ran = promote(project, "own", "--on-conflict", "overwrite")

    ran.refuses(2, "is no file that can be overwritten by own.md; move it away")
    assert outside.read_text() == "kept"
    assert len(os.listdir(folder)) == 1


def test_error_no_link_of_a_project_is_followed(project, flow, tmp_path):
    flow()
    (tmp_path / "outside").mkdir()
    (project.folder / ".bridge").symlink_to(tmp_path / "outside")

    ran = promote(project, "own", "--to", "project")

    assert (ran.code, os.listdir(tmp_path / "outside")) == (1, [])
    assert "follows no link" in ran.err


def test_error_its_base_has_the_same_name(project, flow):
    """It would stand on itself."""
    define(project, "own.yaml", "name: own\nprompt: p\n")
    trust_project(project.bridge)
    flow("own")

    promote(project, "own").fails(
        2, "its base has the name 'own'; use --on-conflict rename"
    )
    promote(project, "own", "--on-conflict", "rename")
    assert "base: own" in fields(home(project) / "own-2.md")[0]


def test_error_our_own_agent_is_not_replaced(project, flow):
    flow(text='$hostbridge-reader := {base: "BASE", prompt: "p"} $own := '
         '{base: "Plan", prompt: "x"} $hostbridge-reader:"" -> ')  # fmt: skip

    ran = promote(project, "hostbridge-reader", "--to", "claude")

    assert "the agent of hostbridge itself has the name" in ran.err


def test_error_a_prompt_that_only_the_flow_knows(project, flow):
    flow(text='$own := {base: "BASE", prompt: "You know {x}."} Plan:"p":x -> ')

    promote(project, "own").fails(
        2,
        "'own' has no prompt of its own: it is empty, or has variables, which only "
        "its flow knows",
    )


@pytest.mark.parametrize("name", ["nobody", "../own", "own/x", "$", "x" * 300])
def test_error_no_such_agent(project, flow, name):
    flow()
    promote(project, name).refuses(2, "no run has a temporary agent")


def test_error_a_file_that_has_changed(project, flow):
    run = flow()
    file = project.state / "runs" / run / "agents" / "own.md"
    file.write_text(file.read_text() + "And more.\n")

    promote(project, "own").refuses(1, f"{file}: it has changed since the run began")
    assert not home(project).exists()


def client_agent(project, name, head="tools: Read, Grep\npermissionMode: plan\n"):
    file = project.bridge.settings.claude_dir / "agents" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n{head}---\nYou check.\n")
    return file


def test_for_claude_code_it_stands_on_its_own(project, flow):
    """It has its base's words and limits in it: the client knows no bases."""
    client_agent(project, "checker")
    flow("checker")
    ran = promote(project, "own", "--to", "claude")

    file = project.bridge.settings.claude_dir / "agents" / "own.md"
    assert ran.out.splitlines()[-1] == "  claude    # a new session knows it"
    assert fields(file) == (
        ["description: From a flow", "model: opus", "name: own",
         "permissionMode: plan", "tools: Read, Grep"],
        "You check.\n\nYou look for faults.\n",
    )  # fmt: skip


def test_it_may_do_no_more_than_its_base(project, flow):
    """What hostbridge ignores in a file of ours would count in Claude Code."""
    head = "tools: Read\npermissionMode: bypassPermissions\nhooks: {Stop: []}\nnew: 1\n"
    text = f"---\nname: checker\ndescription: d\n{head}---\nYou check.\n"
    define(project, "checker.md", text, layer="user")
    flow("checker")
    promote(project, "own", "--to", "claude")

    file = project.bridge.settings.claude_dir / "agents" / "own.md"
    wanted = ["description: From a flow", "model: opus", "name: own", "tools: Read"]
    assert fields(file)[0] == wanted


@pytest.mark.parametrize("base", ["Explore", "tools:linter", "researcher"])
def test_error_a_base_that_claude_codes_files_cannot_have(project, flow, base):
    """It would lose the base's words, or could do more than the base."""
    flow(base)

    promote(project, "own", "--to", "claude").fails(
        2,
        f"'own' stands on '{base}', whose words and limits a file of Claude Code's "
        "cannot have; promote it with --to user or --to project",
    )
    assert promote(project, "own").code == 0


def test_what_it_has_from_its_base_is_shown(project):
    """Before anybody trusts it, too: words, tools and grants."""
    worker = "name: worker\nprompt: 'As told: {{ task }}'\nallow: ['Bash(touch *)']\n"
    define(project, "worker.yaml", worker, layer="user")
    define(
        project, "own.md", "---\nname: own\ndescription: d\nbase: worker\n---\nGo.\n"
    )

    for shown in ("trust", "--show"), ("agents", "show", "own"):
        out = project.run(*shown).out
        assert "stands on  worker" in out
        assert "Bash(touch *)" in out
        assert "As told: {{ task }}" in out


def test_the_list_has_those_of_living_runs(project, flow):
    run = flow("Explore")
    line = f"$own\tflow\thost, claude\tA temporary agent of a flow, run {run}"
    assert line in project.run("agents").out.splitlines()
    shown = [
        json.loads(each)
        for each in project.run("agents", "--json").out.split("\n")[:-1]
    ]
    (own,) = [each for each in shown if each["name"] == "$own"]
    assert (own["layer"], own["run"]) == ("run", run)

    show = project.run("agents", "show", "own").out
    assert "stands on  Explore" in show
    assert "You look for faults." in show
    assert project.run("agents", "show", "$own").out == show

    plan = project.state / "runs" / run
    for file in plan.glob("agents/*"):
        file.unlink()
    assert "$own" not in project.run("agents").out
