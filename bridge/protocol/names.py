"""Names that mean something to every room: of agents, and of models. Pure.

A model is one of the client's, by its short or its full name; `inherit`, the one in
use; the file of a local model; or `openai:NAME`, a model of a server.

Source: Claude Code subagents reference, "model"; measured on 2.1.330.
"""

from collections.abc import Collection

# The client's own agent for any task; it runs where no other is named.
GENERAL = "general-purpose"

# Our own agent for definitions that only read: general-purpose has no Grep and no Glob.
# A settings install writes it among the user's agents; the plugin brings it.
CARRIER = "hostbridge-reader"

# What the client's Agent tool takes by name, from the least to the most able.
CLIENT_MODELS = ("haiku", "sonnet", "opus", "fable")
# How the name of a flow's temporary agent begins; no other agent's does.
TEMPORARY = "$"
# The model of an agent that names none.
USUAL_MODEL = "sonnet"
INHERIT = "inherit"
# Every route takes these: without the client, a route has a stand-in for each.
MODEL_NAMES = (*CLIENT_MODELS, INHERIT)
OF_CLIENT = "claude-"
OF_SERVER = "openai:"
MODEL_FILE = ".gguf"

# Other names of the variable for the task; the first is ours.
OF_TASK = ("task", "target_task_id", "task_id", "session_task")


def declared_as(name: str, known: Collection[str]) -> str:
    """The name in `known` that is meant; the names of a task are synonyms."""
    if name in known or name not in OF_TASK:
        return name
    return next((each for each in OF_TASK if each in known), name)


def is_client_model(model: str) -> bool:
    """Whether `claude` can be asked for it: neither a file nor a server's model."""
    return model in CLIENT_MODELS or model.startswith(OF_CLIENT)


def is_model(model: str) -> bool:
    """Whether some route could be asked for it, by its name alone."""
    if model.endswith(MODEL_FILE):
        # A path may hold a no-break space, but must fit on one line of a message.
        return len(model.splitlines()) == 1
    return model.isprintable() and (
        model == INHERIT
        or is_client_model(model)
        or (model.startswith(OF_SERVER) and model != OF_SERVER)
    )
