"""Every command, in the order of the help, and what it does."""

GROUPS = {
    "Ask": {
        "ask": "Ask an agent and print its answer.",
        "submit": "Ask without waiting; print the request's id.",
        "wait": "Wait for requests, and print each as it ends.",
        "cancel": "Cancel requests; a running agent is stopped.",
        "questions": "List what waits for you: questions, checkpoints.",
        "reply": "Reply to any of them: a value, words, yes or no.",
    },
    "Follow": {
        "status": "What waits, what runs, which sessions are open.",
        "show": "The history of one request.",
        "stale": "List answers that are out of date, and why.",
        "stats": "Count successes, times, tokens, by agent or day.",
        "report": "A page with charts: how all that was asked went.",
    },
    "Set up": {
        "install": "Register the hooks with Claude Code.",
        "uninstall": "Remove the hooks; other settings stay.",
        "doctor": "Find what is wrong, why, and what to do.",
        "completion": "Complete commands and ids with the Tab key.",
        "config": "List and change the settings.",
        "off": "Stop everything at once, here or in one session.",
        "on": "Go on after `off`.",
    },
    "Rules": {
        "rules": "Which rules there are, and what they would do.",
        "vars": "List and set the variables that rules read.",
    },
    "Flows": {
        "run": "Run a flow or a pipeline to its end.",
        "runs": "List runs; pause, go on, cancel, jump.",
        "flow": "Which flows there are, what is wrong; design one.",
        "workflow": "Which pipelines and step workflows there are.",
    },
    "Changes": {
        "validate": "Have validators look at a change; a verdict.",
        "build": "Have something built, looked at, and mended.",
    },
    "Tasks": {
        "task": "Add, take and close tasks; list what is ready.",
    },
    "Agents and models": {
        "agents": "Which agents there are, and what is wrong.",
        "trust": "Look at what this project brings; allow it.",
        "models": "List and fetch models for --route local.",
        "serve": "Answer here what waits for no open session.",
        "mcp": "Serve MCP clients: Claude Code, editors, programs.",
    },
    "Records": {
        "where": "Where this project's requests are, and why.",
        "prune": "Remove finished requests by age and size.",
        "schema": "The JSON Schema of a record.",
    },
}
# Older spellings, which go in the next version, and what has their place.
OLDER = {"approve": "reply", "respond": "reply"}
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}
COMMANDS |= {old: f"The older spelling of `{new}`." for old, new in OLDER.items()}
# The folder of each command's module.
_ROOMS = {
    "asking": "ask submit wait cancel respond questions reply approve",
    "records": "status show stale stats report where prune schema",
    "running": "vars run runs validate build",
    "definitions": "rules agents trust",
    "flows": "flow workflow",
    "tasks": "task",
    "setup": "install uninstall doctor config off on models serve mcp",
}


def module_of(command: str) -> str:
    """The module that has a command."""
    rooms = (room for room, names in _ROOMS.items() if command in names.split())
    return ".".join(["bridge.cli", *rooms, command])
