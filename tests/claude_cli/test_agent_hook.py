"""The hook of our own `claude -p`: what is forbidden, ruled, and granted by options."""

import json
import subprocess
import sys

import pytest
from servingworld import bridge_in
from storeworld import this_process

from bridge.claude_cli import agent_hook
from bridge.claude_cli.agent_hook import decision
from bridge.store import Claimant

RULES = ["Bash(cat [-n] *)"]


@pytest.mark.parametrize(
    ("command", "cwd", "decided"),
    [
        ("cat -n a.txt", ".", "allow"),
        ("cat ../a.txt", "src", "allow"),
        ("cat ../a.txt", ".", "deny"),
        ("cat link", ".", "deny"),
        ("cat -v a.txt", ".", "deny"),
        ("ls", ".", None),
    ],
)
def test_paths_must_stay_in_the_project(tmp_path, command, cwd, decided):
    """From the folder that the shell is in, and with links followed."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "link").symlink_to("/etc/hostname")
    call = {"tool_name": "Bash", "tool_input": {"command": command}}

    said = decision({**call, "cwd": str(project / cwd)}, str(project), RULES)

    output = json.loads(said)["hookSpecificOutput"] if said else {}
    assert output.get("permissionDecision") == decided


WRITES = [
    (["Edit(**)"], "Edit", ".bridge/rules.yaml", True),
    (["Edit"], "Write", "src/.CLAUDE/settings.json", True),
    (["Edit(**)"], "Write", ".hostbridge/trust.json", True),
    (["Edit(**)"], "MultiEdit", "link/rules.yaml", True),
    (["Edit(**)"], "NotebookEdit", ".bridge/x.ipynb", True),
    (["Edit(**)"], "Write", " .bridge/rules.yaml", True),
    (["Edit(.bridge/rules.yaml)"], "Edit", ".bridge/rules.yaml", False),
    (["Edit(**)"], "Edit", "src/a.py", False),
    (["Edit(**)"], "Read", ".bridge/rules.yaml", False),
]


@pytest.mark.parametrize(("rules", "tool", "path", "is_denied"), WRITES)
def test_what_governs_sessions_is_changed_only_where_a_rule_names_it(
    tmp_path, rules, tool, path, is_denied
):
    """The client itself keeps `.git` and `.claude` alone."""
    (tmp_path / ".bridge").mkdir()
    (tmp_path / "link").symlink_to(".bridge")
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"
    call = {"tool_name": tool, "tool_input": {key: path}, "cwd": str(tmp_path)}

    said = decision(call, str(tmp_path), rules)

    assert (b'"deny"' in said) == is_denied


@pytest.mark.parametrize(
    ("rules", "command", "cwd", "is_denied"),
    [
        (["Bash(make test)"], "make test", "other", True),
        (["Bash(make *)"], "cd ../other && make test", "project", True),
        (["Bash(make *)"], "make a; cd ..; make b", "project", True),
        (["Bash(make *)"], "cd ../other", "project", False),
        (["Bash(make *)"], "cd src && make b", "project", True),
        (["Bash(make *)"], "make test", "project/src", True),
        (["Bash(make:*)"], "cd src && make test", "project", True),
        (["Bash(make*)"], "cd src && make test", "project", True),
        (["Bash(ma*)"], "cd src && make test", "project", True),
        (["Bash(* test)"], "cd src && make test", "project", True),
        (["Bash(ma:*)"], "cd src && make test", "project", False),
        (["Bash(make *)"], "cd src && ls && cd .. && make test", "project", False),
        (["Bash(make *)"], 'cd "../o"ther && make test', "project", True),
        (["Bash(make *)"], "cd ../other >/dev/null && make test", "project", True),
        (["Bash(make *)"], "if cd ../other; then make test; fi", "project", True),
        (["Bash(make *)"], "pushd ../other; make test", "project", True),
        (["Bash(make *)"], "LANG=C cd src && make test", "project", True),
        (["Bash(make *)"], "2>/dev/null cd src && make test", "project", True),
        (["Bash(make *)"], "true & cd src && make test", "project", True),
        (["Bash(make *)"], "eval cd src; make test", "project", True),
        (["Bash(make *)"], "f() { cd src; }; f; make test", "project", True),
        (["Bash(make *)"], "$'cd' src; make test", "project", True),
        (["Bash(make *)"], ". ./env.sh; make test", "project", True),
        (["Bash(make *)"], "ls . && make test 2>&1", "project", False),
        (["Bash(git status *)"], "git status -s", "project/src", True),
        (["Bash(git diff [--stat] *)"], "cd src && git diff --stat", "project", True),
        (["Bash(cat [-n] *)", "Bash(make *)"], "cd src && cat a", "project", False),
        (["Bash"], "make test", "other", False),
        (["Edit(**)"], "make test", "other", False),
    ],
)
def test_a_grant_of_a_program_holds_in_its_project(
    tmp_path, rules, command, cwd, is_denied
):
    """Elsewhere the same words start another program."""
    for folder in ("project/src", "other"):
        (tmp_path / folder).mkdir(parents=True)
    call = {"tool_name": "Bash", "tool_input": {"command": command}}

    said = decision(
        {**call, "cwd": str(tmp_path / cwd)}, str(tmp_path / "project"), rules
    )

    assert (b'"deny"' in said) == is_denied


REDIRECTED = [
    ("echo x > .bridge/agents/e.yaml", True),
    ("cat > .bridge/rules.yaml <<'EOF'\nrules: []\nEOF", True),
    ("make test 2>>.hostbridge/trust.json", True),
    ("make test &> link/rules.yaml", True),
    ("cd src && echo x >| ../.bridge/rules.yaml", True),
    ("echo x > $(echo .bridge)/rules.yaml", True),
    ("echo x > .bri*/rules.yaml", True),
    ("echo x > src/a.txt", False),
    ("make test 2>&1 >/dev/null", False),
    ("grep -n '> .bridge' a", False),
]


@pytest.mark.parametrize(("command", "is_denied"), REDIRECTED)
def test_no_redirection_changes_what_governs_sessions(tmp_path, command, is_denied):
    """The client takes the leave to edit files as leave to write them so."""
    for folder in (".bridge", "src"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(".bridge")
    call = {"tool_name": "Bash", "tool_input": {"command": command}}

    said = decision({**call, "cwd": str(tmp_path)}, str(tmp_path), ["Edit(**)"])

    assert (b"what governs sessions" in said) == is_denied


@pytest.mark.parametrize("path", ["/proc/self/cwd/../secret", "link/../secret"])
def test_a_path_through_a_process_is_of_no_project(tmp_path, monkeypatch, path):
    """For the program it leads elsewhere than for its judge."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("/proc/self/cwd")
    monkeypatch.chdir(tmp_path / "sub")
    call = {"tool_name": "Bash", "tool_input": {"command": f"cat {path}"}}

    said = decision({**call, "cwd": str(tmp_path)}, str(tmp_path), RULES)

    assert b"lies outside the project" in said


RUN = {"depth": 0, "above": ["worker"], "replacesVariables": False, "ruleSets": {}}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Run the hook as the client does; what it says, and how the request stands."""
    bridge = bridge_in(tmp_path)
    monkeypatch.setenv("BRIDGE_HOME", str(bridge.settings.home))
    request = bridge.submit("Go.", route="claude")
    bridge.store.claim_one(request, Claimant("claude-1", this_process(), "claude"))

    def said(event="PreToolUse", *, rules="", **fields):
        if rules:
            (bridge.settings.home / "rules.yaml").write_text(rules)
        agent = {
            "requestId": fields.pop("request", request),
            "place": bridge.store.place.words(),
            "home": str(bridge.settings.home),
            "run": RUN,
            "tools": ["Bash", "mcp__good"],
            "blockedTools": ["Edit"],
            "allow": RULES,
        }
        ended = subprocess.run(
            [sys.executable, "-I", "-S", agent_hook.__file__, json.dumps(agent)],
            input=fields.pop("data", json.dumps({"hook_event_name": event, **fields})),
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert ended.stderr == ""
        return json.loads(ended.stdout or "{}").get("hookSpecificOutput", {})

    return said


@pytest.mark.parametrize(
    ("tool", "is_denied"),
    [("Bash", False), ("mcp__good__x", False), ("mcp__bad__x", True), ("Edit", True),
     ("Read", True), ("StructuredOutput", False), ("ToolSearch", False)],
)  # fmt: skip
def test_a_tool_that_the_definition_keeps_from_it(ask, tool, is_denied):
    """`--tools` says nothing about those of MCP servers."""
    said = ask(tool_name=tool, tool_input={})

    assert (said.get("permissionDecision") == "deny") is is_denied


def test_a_request_that_has_ended_makes_no_calls(ask):
    said = ask(tool_name="Bash", tool_input={"command": "ls"}, request="gone")

    assert "this request has ended" in said["permissionDecisionReason"]


def test_rules_come_before_grants(ask):
    rules = "on_before_tool: [{when: command == 'cat -n a', block: Not that.}]"

    refused = ask(tool_name="Bash", tool_input={"command": "cat -n a"}, rules=rules)
    allowed = ask(tool_name="Bash", tool_input={"command": "cat -n b"})

    assert "Not that." in refused["permissionDecisionReason"]
    assert allowed["permissionDecision"] == "allow"


def test_the_agents_end_is_asked_about_once(ask):
    """Stop follows the answer, and could not stop that."""
    rules = "on_subagent_stop: [{block: Not yet.}]"

    answer = ask(tool_name="StructuredOutput", tool_input={}, rules=rules)

    assert "Not yet." in answer["permissionDecisionReason"]
    assert ask("Stop") == {}


@pytest.mark.parametrize("data", ["", "{", "[]", "null", "\0" * 1000])
def test_what_cannot_be_read_is_denied(ask, data):
    assert ask(data=data)["permissionDecision"] == "deny"


def test_a_broken_rule_that_blocks_says_how_to_mend_it(ask):
    rules = "on_before_tool: [{when: command ==, block: Never.}]"

    said = ask(tool_name="Bash", tool_input={"command": "cat -n b"}, rules=rules)

    assert "hostbridge rules check" in said["permissionDecisionReason"]
