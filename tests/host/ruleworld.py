"""Models and rules for tests of rules in the real client."""

import json

from bridge.testing.stage.models import launch, new_tokens
from bridge.testing.stage.replies import reply, tool_use


def define_rules(world, text):
    home = world.bridge.settings.home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "rules.yaml").write_text(text)


def calling(*commands, closing="ok"):
    """A main thread that runs commands, one a turn, and launches what it is told to."""
    left = list(commands)

    def script(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if left and "go" in request.last_user_text:
            return reply(tool_use("Bash", {"command": left.pop(0)}))
        return reply(closing)

    return script


TWO = """
on_before_tool:
  - when: runs(command, "pytest", "ruff")
    spawn_agent: {agent: general-purpose, prompt: "Run {{ command }}"}
"""


def verified(command, words="all passed"):
    """An agent that runs a command, and shows it."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": command}), delay_s=1)
        seen = {"type": "command_output", "content": "ok", "passed": True}
        seen["command"] = command
        output = {"status": "success", "summary": words, "evidence": [seen]}
        return reply(json.dumps(output))

    return answers


def summary(prompt, _request):
    """An agent that repeats its task, a second later."""
    task = prompt.partition("Run ")[2].split()[0]
    output = {"status": "success", "summary": f"{task} is done", "evidence": []}
    return reply(json.dumps(output), delay_s=1)


def variables_of(world):
    """The variables that were set in the only session."""
    (file,) = (world.store.place.state / "sessions").glob("*.vars.json")
    found = json.loads(file.read_bytes())["variables"]
    return {name: each["value"] for name, each in found.items()}
