"""What an agent of a session is told that it did not ask for."""

import re

import pytest
from sessionlooks import answered, define, is_reused, reads, reasons, working, write

pytestmark = pytest.mark.slow

MEMORY = [
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/x/y.md",
    ".claude/skills/s/SKILL.md", ".claude/agent-memory/a/MEMORY.md", "src/CLAUDE.md",
]  # fmt: skip


@pytest.mark.parametrize("file", MEMORY)
def test_what_the_client_puts_into_a_prompt_counts(session, file):
    """Also beside a file that was read."""
    answered(session, reads(session, "src/a.py"))
    assert is_reused(session)

    write(session, file)

    assert reasons(session) == [f"added: {file}"]


USERS = {
    "the user's": "home/.claude/CLAUDE.md",
    "a rule of the user's": "home/.claude/rules/x.md",
    "a folder above": "CLAUDE.md",
    "the client's own": "home/.claude/projects/{}/memory/MEMORY.md",
    "a rule of hostbridge": "home/.hostbridge/rules.yaml",
    "a rule set": "home/.hostbridge/rules/strict.yaml",
}


@pytest.mark.parametrize("name", USERS)
def test_what_the_client_is_told_outside_of_the_project_counts(session, name):
    """It is in the agent's prompt, whoever wrote it, and where."""
    answered(session)
    assert is_reused(session)

    slug = re.sub(r"[^A-Za-z0-9]", "-", str(session.project))
    write(session, f"../{USERS[name].format(slug)}", "PreToolUse: []\n")

    (reason,) = reasons(session)
    assert reason.startswith("added: /")
    assert not is_reused(session)


IMPORTS = {
    "one of another": ("See @docs/first.md, and @me in the chat.", "docs/deep.md"),
    "one of its sections": ("@docs/style.md#names", "docs/style.md"),
    "spaces": ("See @docs/the\\ style.md", "docs/the style.md"),
    "an odd end": ("@docs/style!", "docs/style!"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_an_import_is_read_as_the_client_reads_it(session, name):
    """Without a call of the agent's."""
    text, file = IMPORTS[name]
    write(session, "CLAUDE.md", f"{text}\n")
    write(session, "docs/first.md", "@deep.md\n")
    write(session, file)
    session.start_again()
    answered(session)
    assert is_reused(session)

    write(session, file, "two\n")

    assert reasons(session) == [f"changed: {file}"]
    assert not is_reused(session)


@pytest.mark.parametrize("kind", ["rules/one.md", "rules/all", "skills/s"])
def test_memory_behind_a_link_counts(session, tmp_path, kind):
    """The client follows them, so that projects can share their rules."""
    shared = tmp_path / "shared"
    file = shared if kind.endswith(".md") else shared / "SKILL.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("one\n")
    link = session.project / ".claude" / kind
    link.parent.mkdir(parents=True)
    link.symlink_to(shared)
    session.start_again()
    answered(session)
    assert is_reused(session)

    file.write_text("two\n")

    (reason,) = reasons(session)
    assert reason.startswith(f"changed: .claude/{kind}")


def test_a_link_to_memory_that_is_new_counts(session, tmp_path):
    answered(session)
    (tmp_path / "shared").mkdir()
    (session.project / ".claude/rules").mkdir(parents=True)
    (session.project / ".claude/rules/all").symlink_to(tmp_path / "shared")

    assert reasons(session) == ["added: .claude/rules/all"]


def test_memory_that_leads_everywhere_is_a_doubt(session, monkeypatch):
    """It may come with a stranger's archive; the hook has little time."""
    monkeypatch.setattr("bridge.freshness.memory_files._MAX_ENTRIES", 100)
    (session.project / ".claude/rules").mkdir(parents=True)
    (session.project / ".claude/rules/loop").symlink_to("..")
    (session.project / ".claude/rules/all").symlink_to("/")
    session.start_again()
    answered(session)

    (reason,) = reasons(session)
    assert reason.endswith("cannot be checked: more than 100 files of memory")


# All of the names are one file, and behind them another could hide.
NAMES = "".join(f"@{'./' * n}a " for n in range(201))
MANY = {
    "bytes": (5, "x" * (1 << 20), "more than 4,194,304 bytes of memory"),
    "names": (1, NAMES, "more than 200 files of memory"),
}


@pytest.mark.parametrize("kind", MANY)
def test_memory_that_no_hook_can_read_in_time_is_a_doubt(session, kind):
    """As that is: it may come with an archive, and the answer is not to be lost."""
    count, text, why = MANY[kind]
    for number in range(count):
        write(session, f".claude/rules/{number}.md", text)
    session.start_again()
    answered(session)

    (reason,) = reasons(session)
    assert reason.endswith(f"cannot be checked: {why}")


def test_an_agent_that_reads_in_many_folders_is_no_doubt(session):
    """Each of them could have memory, and none has."""
    for number in range(70):
        write(session, f"f{number}/a.py")
    answered(session, *(reads(session, f"f{number}/a.py") for number in range(70)))

    assert reasons(session) == []
    assert is_reused(session)


def test_a_projects_rules_count_and_whether_they_are_trusted(session):
    write(session, ".bridge/rules.yaml", "PreToolUse: []\n")
    answered(session)
    assert is_reused(session)

    (session.home / ".hostbridge/trust.json").write_text("{}\n")

    (reason,) = reasons(session)
    assert reason.endswith("/.hostbridge/trust.json")
    write(session, ".bridge/rules.yaml", "PreToolUse: []\n\n")
    assert reasons(session)[0] == "changed: .bridge/rules.yaml"


def test_the_clients_agent_that_a_definition_runs_as_counts(session):
    """The project may define it, and hostbridge's definition says only its name."""
    define(session, "subagent_type: keen")
    _request, agent = working(session, agent="terse")
    session.stop(agent)
    assert reasons(session) == []

    write(session, ".claude/agents/keen.md", "---\nname: keen\n---\nBe keen.\n")

    assert reasons(session) == ["added: .claude/agents/keen.md"]
