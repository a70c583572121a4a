"""An agent that works in a worktree of the project, and what it is allowed there."""

from defining import define

GRANTS = "allow: ['Edit(src/**)', 'Bash(pytest [-q] *)']\n"
# Where the client asks nobody.
UNASKED = ("acceptEdits", "auto", "bypassPermissions")


def started(world, folder, allow=GRANTS):
    """The agent, at work in a folder."""
    define(world, allow)
    world.drop("r1", agentType="worker", prompt="Do it.", folder=str(folder))
    world.say("UserPromptSubmit", prompt="hello")
    return world.start(world.launch("r1"))


def bash(command):
    return "Bash", {"command": command}


def decided(world, agent, calls, mode="default"):
    """What is decided about each of these calls, where the client asks."""
    said = [world.permission(agent, tool, mode, **given) for tool, given in calls]
    return [each["behavior"] for each in said]


def unasked(world, agent, calls, mode="bypassPermissions"):
    """The same where it does not; None if the call is left to it."""
    said = [
        world.use(agent, tool, tool_input=given, permission_mode=mode)
        for tool, given in calls
    ]
    outputs = [each.get("hookSpecificOutput", {}) for each in said]
    return [each.get("permissionDecision") for each in outputs]
