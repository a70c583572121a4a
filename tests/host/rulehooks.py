"""Rules in hooks without a client: put in force, and asked about a command."""

from typing import Any

from hookworld import HookWorld

from bridge.rules.compiled import compile_rules


def put_in_force(world: HookWorld, text: str) -> None:
    """Make these the rules of the user."""
    (world.bridge.settings.home / "rules.yaml").write_text(text)
    compile_rules(world.bridge.settings, world.store)


def bash(world: HookWorld, command: str, **fields: Any) -> dict[str, Any]:
    """Call Bash: the decision about it, and what the user is told."""
    fields.setdefault("tool_use_id", f"toolu_{abs(hash(command))}")
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    said = world.say("PreToolUse", **call, **fields)
    output: dict[str, Any] = said.pop("hookSpecificOutput", {})
    return output | said


def run(
    world: HookWorld, command: str = "pytest -q", **fields: Any
) -> tuple[bool, str]:
    """Call Bash: whether it runs, and what model and user are told."""
    said = bash(world, command, **fields)
    is_denied = said.get("permissionDecision") == "deny"
    reason = said.get("permissionDecisionReason", "")
    return not is_denied, reason + said.get("systemMessage", "")
