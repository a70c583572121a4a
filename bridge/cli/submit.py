"""Ask without waiting: print the request's id, which is durable from then on.

Needs no open session: the request waits for one until its deadline.
"""

from typing import Annotated

import typer

from bridge.cli.options import (
    Agent,
    AnswerToHost,
    Arguments,
    AsJson,
    DedupKey,
    Lifetime,
    Model,
    PriorityChoice,
    Prompt,
    SchemaFile,
    SessionId,
    TaskId,
)
from bridge.cli.printing import say, say_json
from bridge.cli.reading import agent_and_prompt, read_arguments, read_schema
from bridge.spawner.bridge import Bridge


def command(
    agent: Agent = None,
    prompt: Prompt = None,
    *,
    schema: SchemaFile = None,
    timeout_s: Lifetime = None,
    model: Model = None,
    priority: PriorityChoice = None,
    arguments: Arguments = None,
    task_id: TaskId = None,
    dedup_key: DedupKey = None,
    session: SessionId = None,
    answer_to_host: AnswerToHost = False,
    request_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its id; by default one is made."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Submit and print the id."""
    name, words = agent_and_prompt(agent, prompt)
    submitted = Bridge.open().submit(
        words,
        name,
        schema=read_schema(schema),
        timeout_s=timeout_s,
        model=model,
        priority=priority,
        arguments=read_arguments(arguments),
        task_id=task_id,
        dedup_key=dedup_key,
        session=session,
        answer_to_host=answer_to_host,
        request_id=request_id,
    )
    if as_json:
        say_json({"requestId": submitted})
    else:
        say(submitted)
