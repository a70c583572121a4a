"""Every command, in the order of use: its line in `hostbridge --help`, two examples."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One line on what it does, and two commands that one can paste."""

    line: str
    examples: tuple[str, str]


_ANSWER = '{"status": "success", "summary": "yes"}'

COMMANDS = {
    "ask": Command(
        "Ask an agent and print its answer.",
        (
            'hostbridge ask "Which modules lack tests?"',
            "git diff | hostbridge ask Explore - --timeout 300 --json",
        ),
    ),
    "submit": Command(
        "Ask without waiting; prints the request id.",
        (
            'id=$(hostbridge submit "Which modules lack tests?")',
            'hostbridge wait $(hostbridge submit Explore "Where is main?")',
        ),
    ),
    "serve": Command(
        "Answer right here what waits for no session.",
        ("hostbridge serve", "hostbridge serve --once --route claude"),
    ),
    "wait": Command(
        "Wait for requests, as they are completed.",
        (
            'hostbridge wait $(hostbridge submit "Which modules lack tests?")',
            'hostbridge wait --json --timeout 600 $(hostbridge submit "Name a bug")',
        ),
    ),
    "cancel": Command(
        "Cancel a request; a running agent is stopped.",
        (
            'hostbridge cancel $(hostbridge submit "Never mind")',
            'hostbridge cancel --json $(hostbridge submit "Never mind")',
        ),
    ),
    "respond": Command(
        "Answer a request by hand.",
        (
            'id=$(hostbridge submit "Is it Friday?")',
            f"echo '{_ANSWER}' | hostbridge respond \"$id\"",
        ),
    ),
    "status": Command(
        "What waits, what runs, which sessions are open.",
        ("hostbridge status", "hostbridge status --watch"),
    ),
    "show": Command(
        "One request's whole story.",
        (
            'hostbridge show $(hostbridge submit "Which modules lack tests?")',
            'hostbridge show --full $(hostbridge submit "Which modules lack tests?")',
        ),
    ),
    "where": Command(
        "Where the state of this project lies, and why.",
        ("hostbridge where", 'ls "$(hostbridge where)"'),
    ),
    "install": Command(
        "Register the hooks with Claude Code.",
        ("hostbridge install", "hostbridge install --user && hostbridge doctor"),
    ),
    "uninstall": Command(
        "Remove the hooks; other settings stay as they are.",
        ("hostbridge uninstall", "hostbridge uninstall --user"),
    ),
    "doctor": Command(
        "Look for what is wrong, with cause and cure.",
        ("hostbridge doctor", "hostbridge doctor --live"),
    ),
    "agents": Command(
        "Which agents are defined, where, and what is wrong.",
        ("hostbridge agents", "hostbridge agents check .bridge/agents"),
    ),
    "trust": Command(
        "Look at this project's own definitions, and let them count.",
        ("hostbridge trust", "hostbridge trust --list"),
    ),
    "models": Command(
        "Which models this machine has for the local route.",
        ("hostbridge models", "hostbridge models --test"),
    ),
    "off": Command(
        "Stop everything at once, here or in one session.",
        ("hostbridge off", "hostbridge off && hostbridge status"),
    ),
    "on": Command(
        "Go on after `off`.",
        ("hostbridge on", "hostbridge on && hostbridge status"),
    ),
    "schema": Command(
        "Print the JSON Schema of a record.",
        ("hostbridge schema", "hostbridge schema response > response.schema.json"),
    ),
    "prune": Command(
        "Remove finished requests by age and size.",
        ("hostbridge prune --days 7", "hostbridge prune --max-mib 100"),
    ),
    "hook": Command(
        "What the hook executables call.",
        (
            "echo '{}' | hostbridge hook PostToolUse",
            "hostbridge hook SessionStart local < event.json",
        ),
    ),
}
