"""The real client: agents of a run read, change and review what was there before."""

import json
import re

import pytest
from gitworld import Repository
from hostworld import host_world
from mcpstage import register

from bridge import worktrees
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

TREE = "${{ steps.tree.output.folder }}"
PIPELINE = f"""\
name: three
type: pipeline
steps:
- {{id: tree, worktree: create, arguments: {{name: three}}}}
- {{id: dev, agent: developer, prompt: Do it., worktree: "{TREE}"}}
- {{id: qa, agent: qa-reviewer, prompt: Do it., worktree: "{TREE}"}}
- {{id: again, agent: merge, prompt: Do it., worktree: "{TREE}"}}
- {{id: commit, worktree: commit, arguments: {{worktree: "{TREE}", message: Greet}}}}
- {{id: into, worktree: merge, arguments: {{worktree: "{TREE}"}}}}
outputs: {{how: "${{{{ steps.into.output.how }}}}"}}
"""
DONE = {"status": "success", "summary": "Done.", "files": [], "evidence": []}
SEEN = {"approved": True, "feedback": [], "summary": "Read.", "evidence": []}
ROLES = {
    "You implement one task": "developer",
    "You decide whether the work": "qa-reviewer",
    "The change of a task could not": "merge",
}


def bash(command):
    return "Bash", {"command": command, "description": "d"}


def edit(folder, old, new):
    return "Edit", {
        "file_path": f"{folder}/greet.py", "old_string": old, "new_string": new,
    }  # fmt: skip


def looking(folder):
    """Every way to look at a file of the worktree, and what each must find."""
    return [
        (("Read", {"file_path": f"{folder}/greet.py"}), "def greet"),
        (bash(f"cat {folder}/greet.py"), "def greet"),
        (bash(f"cd {folder} && cat greet.py | head -3"), "def greet"),
        (bash(f"cd {folder} && ls"), "greet.py"),
        (bash(f"cd {folder} && grep -rn 'def greet' ."), "greet.py:1"),
        (bash(f"find {folder} -name 'greet.py'"), "greet.py"),
    ]


def calls_of(folder):
    """What each agent does, and words of what it is told."""
    changed = [
        (bash(f"git -C {folder} diff"), "+    return 'hello'"),
        (bash(f"cd {folder} && git status --short"), "M greet.py"),
        (bash(f"cd {folder} && git diff --stat -- greet.py"), "1 file changed"),
    ]
    return {
        "developer": [
            *looking(folder),
            (edit(folder, "return 'hi'", "return 'hello'"), "updated"),
            *changed,
        ],
        "qa-reviewer": [*looking(folder), *changed],
        "merge": [
            *looking(folder),
            (edit(folder, "return 'hello'", "return 'hello'  # twice"), "updated"),
        ],
    }


def forbidden(folder, outside):
    """What an agent of a run is refused: each would leave its worktree."""
    return [
        ("Read", {"file_path": f"{outside}/secret"}),
        ("Read", {"file_path": f"{folder}/../../../events.jsonl"}),
        ("Read", {"file_path": f"{folder}/out"}),
        ("Write", {"file_path": f"{outside}/new", "content": "x"}),
        bash(f"cd {folder} && cat out"),
        bash(f"cd {folder} && cat ../../../events.jsonl"),
        bash(f"cd {folder} && cd && cat .hostbridge/config.toml"),
        bash(f"git -C {folder} --git-dir={outside}/.git log"),
        bash(f"git -C {folder} diff --no-index {outside}/secret greet.py"),
        bash(f"git -C {folder} diff --output=stolen"),
        bash(f"cd {folder} && make test"),
    ]


class Agents:
    """The three of them; `told` has what each was told, call by call."""

    def __init__(self, calls):
        self.calls = calls
        self.told = {}

    def __call__(self, prompt, request):
        role = next(name for words, name in ROLES.items() if words in prompt)
        folder = re.search(r"Work in the folder (\S+), a worktree", prompt)[1]
        said = sum(item.get("role") == "assistant" for item in request.messages)
        told = self.told.setdefault(role, [])
        if said:
            told.append(request.tool_results[-1])
        calls = self.calls(role, folder)
        if said < len(calls):
            return reply(tool_use(*calls[said]))
        return reply(json.dumps(SEEN if role == "qa-reviewer" else DONE))


def make_project(project):
    repository = Repository(project)
    repository.write("greet.py", "def greet():\n    return 'hi'\n")
    repository.git("add", "greet.py")
    repository.git("commit", "-qm", "greet")


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto"])
def test_three_agents_work_on_a_file_that_was_there_before(tmp_path, mode):
    agents = Agents(lambda role, folder: [c for c, _ in calls_of(folder)[role]])
    with host_world(tmp_path, obedient_model(agents)) as world:
        register(world)
        make_project(world.stage.project)
        (tmp_path / "three.yaml").write_text(PIPELINE)
        with world.stream(mode=mode):
            done = world.bridge.run(tmp_path / "three.yaml", timeout_s=300)

    assert done.success, done.why
    for role, wanted in calls_of("").items():
        told = agents.told[role]
        for (call, words), result in zip(wanted, told, strict=True):
            found = (result.is_error, words in result.text)
            assert found == (False, True), (role, call, result.text)
    assert done.answers[0]["how"] == "fast-forward"
    changed = (world.stage.project / "greet.py").read_text()
    assert changed == "def greet():\n    return 'hello'  # twice\n"


@pytest.mark.parametrize("mode", ["default", "auto"])
def test_an_agent_of_a_run_does_not_leave_its_worktree(tmp_path, mode):
    """The session that carries it may read all of that, or asks its user."""
    outside = tmp_path / "outside"

    def calls(role, folder):
        return forbidden(folder, outside) if role == "developer" else []

    agents = Agents(calls)
    with host_world(tmp_path, obedient_model(agents)) as world:
        register(world)
        outside.mkdir()
        (outside / "secret").write_text("secret")
        make_project(world.stage.project)
        (world.stage.project / "out").symlink_to(outside / "secret")
        Repository(world.stage.project, is_empty=True).commit("out")
        (tmp_path / "three.yaml").write_text(PIPELINE)
        with world.stream(mode=mode):
            world.bridge.run(tmp_path / "three.yaml", timeout_s=300)

    told = agents.told["developer"]
    for call, result in zip(forbidden("", outside), told, strict=True):
        refused = "is not granted to this agent" in result.text
        # The last one is its to run; there is nothing to make.
        assert refused is ("make test" not in str(call)), (call, result.text)
    assert not (outside / "new").exists()


def test_who_only_reads_searches_its_worktree(tmp_path):
    """On the agent of ours that has Grep and Glob; validators run on that, too."""
    told = []

    def answers(prompt, request):
        folder = re.search(r"Work in the folder (\S+), a worktree", prompt)[1]
        calls = [
            ("Grep", {"pattern": "greet", "path": folder, "output_mode": "content"}),
            ("Glob", {"pattern": "*.py", "path": folder}),
            ("Read", {"file_path": f"{folder}/greet.py"}),
            ("Grep", {"pattern": "x", "path": f"{folder}/../.."}),
        ]
        said = sum(item.get("role") == "assistant" for item in request.messages)
        if said:
            told.append(request.tool_results[-1])
        if said < len(calls):
            return reply(tool_use(*calls[said]))
        return reply(json.dumps({"answer": "a", "findings": [], "confidence": "high"}))

    with host_world(tmp_path, obedient_model(answers)) as world:
        make_project(world.stage.project)
        world.add_reader()
        folder = worktrees.folder_of(world.store.place.state, "run1", "look")
        worktrees.create(world.stage.project, "hostbridge/run1/look", folder)
        request = world.drop(agentType="researcher", prompt="Look.", folder=str(folder))
        with world.stream():
            response = world.ended(request)

    assert response.success, response.error
    found, listed, read, refused = told
    assert "greet.py:1" in found.text
    assert "greet.py" in listed.text
    assert "def greet" in read.text
    assert "Grep is not granted to this agent: this agent works in" in refused.text
