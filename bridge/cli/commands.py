"""Every command, in the order of the help, and what it does."""

from __future__ import annotations

COMMANDS = {
    "ask": "Ask an agent and print its answer.",
    "submit": "Ask without waiting; prints the request id.",
    "serve": "Answer right here what waits for no session.",
    "wait": "Wait for requests, as they are completed.",
    "cancel": "Cancel a request; a running agent is stopped.",
    "respond": "Answer a request by hand.",
    "status": "What waits, what runs, which sessions are open.",
    "show": "The history of one request.",
    "where": "Where the state of this project lies, and why.",
    "install": "Register the hooks with Claude Code.",
    "uninstall": "Remove the hooks; other settings stay as they are.",
    "doctor": "Look for what is wrong, with cause and cure.",
    "agents": "Which agents are defined, where, and what is wrong.",
    "trust": "Look at this project's own definitions, and trust them.",
    "models": "Which models this machine has for the local route.",
    "off": "Stop everything at once, here or in one session.",
    "on": "Go on after `off`.",
    "config": "The settings, where each comes from; change them.",
    "schema": "Print the JSON Schema of a record.",
    "prune": "Remove finished requests by age and size.",
    "hook": "What the hook executables call.",
}
