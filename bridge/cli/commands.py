"""Every command, in the order of the help: one line on it, and two examples."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """One line on what it does, and two commands to paste."""

    line: str
    examples: tuple[str, str]


_TABLE = """\
ask: Ask an agent and print its answer.
    hostbridge ask "Which modules lack tests?"
    git diff | hostbridge ask Explore - --timeout 300 --json
submit: Ask without waiting; prints the request id.
    id=$(hostbridge submit "Which modules lack tests?")
    hostbridge wait $(hostbridge submit Explore "Where is main?")
serve: Answer right here what waits for no session.
    hostbridge serve
    hostbridge serve --once --route claude
wait: Wait for requests, as they are completed.
    hostbridge wait $(hostbridge submit "Which modules lack tests?")
    hostbridge wait --json --timeout 600 $(hostbridge submit "Name a bug")
cancel: Cancel a request; a running agent is stopped.
    hostbridge cancel $(hostbridge submit "Never mind")
    hostbridge cancel --json $(hostbridge submit "Never mind")
respond: Answer a request by hand.
    id=$(hostbridge submit "Is it Friday?")
    echo '{"status": "success", "summary": "yes"}' | hostbridge respond "$id"
status: What waits, what runs, which sessions are open.
    hostbridge status
    hostbridge status --watch
show: One request's whole story.
    hostbridge show $(hostbridge submit "Which modules lack tests?")
    hostbridge show --full $(hostbridge submit "Which modules lack tests?")
where: Where the state of this project lies, and why.
    hostbridge where
    ls "$(hostbridge where)"
install: Register the hooks with Claude Code.
    hostbridge install
    hostbridge install --user && hostbridge doctor
uninstall: Remove the hooks; other settings stay as they are.
    hostbridge uninstall
    hostbridge uninstall --user
doctor: Look for what is wrong, with cause and cure.
    hostbridge doctor
    hostbridge doctor --live
agents: Which agents are defined, where, and what is wrong.
    hostbridge agents
    hostbridge agents check .bridge/agents
trust: Look at this project's own definitions, and let them count.
    hostbridge trust
    hostbridge trust --list
models: Which models this machine has for the local route.
    hostbridge models
    hostbridge models --test
off: Stop everything at once, here or in one session.
    hostbridge off
    hostbridge off && hostbridge status
on: Go on after `off`.
    hostbridge on
    hostbridge on && hostbridge status
schema: Print the JSON Schema of a record.
    hostbridge schema
    hostbridge schema response > response.schema.json
prune: Remove finished requests by age and size.
    hostbridge prune --days 7
    hostbridge prune --max-mib 100
hook: What the hook executables call.
    echo '{}' | hostbridge hook PostToolUse
    hostbridge hook SessionStart local < event.json
"""


def _parse(table: str) -> dict[str, Command]:
    lines = [line.strip() for line in table.splitlines()]
    found = {}
    for head, *examples in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        name, _, line = head.partition(": ")
        found[name] = Command(line, (examples[0], examples[1]))
    return found


COMMANDS = _parse(_TABLE)
