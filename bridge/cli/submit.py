"""Ask without waiting: print the request's id, which is durable from then on.

Needs no open session: the request waits for one until its deadline; with --route
claude, local or endpoint for somebody who runs `hostbridge serve`.
"""

from typing import Annotated

import typer

from bridge.api.bridge import Bridge
from bridge.cli.inputs import (
    agent_and_prompt,
    hint_of_quotes,
    read_pairs,
    read_schema,
)
from bridge.cli.model_name import from_here
from bridge.cli.options import (
    AnswerToHost,
    Arguments,
    AsJson,
    DedupKey,
    Lifetime,
    Model,
    NodeSpec,
    PriorityChoice,
    Route,
    SchemaFile,
    SessionId,
    TaskId,
    Variables,
    Words,
)
from bridge.cli.output import say, say_json


def command(
    words: Words = None,
    *,
    schema: SchemaFile = None,
    timeout_s: Lifetime = None,
    route: Route = "auto",
    model: Model = None,
    priority: PriorityChoice = None,
    arguments: Arguments = None,
    variables: Variables = None,
    node: NodeSpec = None,
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
    bridge = Bridge.open()
    agent, prompt = agent_and_prompt(bridge, words or [])
    with hint_of_quotes(words or []):
        submitted = bridge.submit(
            prompt,
            agent,
            schema=read_schema(schema),
            timeout_s=timeout_s,
            route=route,
            model=from_here(model, bridge.settings),
            priority=priority,
            arguments=read_pairs("--set", arguments),
            variables=read_pairs("--var", variables),
            node=node,
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
