"""Records of a transcript, as the client writes them down."""

import json

CALL = {"type": "tool_use", "id": "toolu_x", "name": "Bash", "input": {}}


def text(words):
    return {"type": "text", "text": words}


def said(*content, **fields):
    """A record of what the model says, a block each, as the client writes it."""
    message = {"role": "assistant", "id": "msg_1", "content": [*content]}
    message |= {"stop_reason": "end_turn", **fields.pop("message", {})}
    return {"type": "assistant", "message": message, **fields}


def told(content, **fields):
    """A record of what the agent is told."""
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def result(call, **fields):
    block = {"type": "tool_result", "tool_use_id": call, "content": "done", **fields}
    return told([block])


def working(*content):
    """A record of a message that calls a tool."""
    return said(*content, message={"stop_reason": "tool_use", "id": "msg_0"})


def handing(words):
    block = {"type": "tool_use", "id": "toolu_h", "name": "SubagentHandback"}
    return working({**block, "input": {"message": words}})


def writes(world, agent, *records):
    """Have the client write records down."""
    with world.transcript(agent).open("a") as file:
        for record in records:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def missed(world, *records, **asked):
    """Ask, and have the agent end so, of which no hook hears; the request."""
    request, agent = world.working(**asked)
    writes(world, agent, *records)
    world.say("Stop", background_tasks=[])
    return request
