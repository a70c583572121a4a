"""Ask an agent, wait, and print its answer.

The open Claude Code session answers, or, with --route, a model right here.

Without --schema the answer is a status, a summary and its evidence; with it, a JSON
value that satisfies the schema.

Ctrl-C and SIGTERM cancel the request. Exit codes: 0 answered with success; 1 the
agent answered failure, or the request failed; 2 usage; 4 nobody could take it; 5
deadline; 6 submitted, cannot wait here; 7 answered with success, but degraded (by a
small model, or another than the one wanted, and without verified evidence); 130
interrupted.
"""

import signal
from typing import Annotated

import typer

from bridge.api.bridge import Bridge
from bridge.cli.answer_text import answer_text, by_whom
from bridge.cli.exit_codes import of_result
from bridge.cli.inputs import (
    agent_and_prompt,
    hint_of_quotes,
    read_pairs,
    read_schema,
)
from bridge.cli.interrupts import Interrupts
from bridge.cli.model_name import from_here
from bridge.cli.options import (
    AcceptDegraded,
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
from bridge.cli.output import complain, record, say, say_json
from bridge.cli.progress import Progress
from bridge.errors import CannotWaitHere
from bridge.protocol.status import Stage


def command(
    words: Words = None,
    *,
    schema: SchemaFile = None,
    timeout_s: Lifetime = None,
    route: Route = "auto",
    fallback_after_s: Annotated[
        float | None,
        typer.Option(
            "--fallback-after",
            metavar="S",
            help="Serve it here when no session has taken it after so many seconds, on "
            "the route that --fallback names.",
        ),
    ] = None,
    fallback: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="What to fall back to: claude, endpoint or local; by default what "
            "BRIDGE_CLI_FALLBACK says.",
        ),
    ] = None,
    model: Model = None,
    priority: PriorityChoice = None,
    arguments: Arguments = None,
    variables: Variables = None,
    node: NodeSpec = None,
    task_id: TaskId = None,
    dedup_key: DedupKey = None,
    session: SessionId = None,
    answer_to_host: AnswerToHost = False,
    accept_degraded: AcceptDegraded = False,
    as_json: AsJson = False,
) -> int:
    """Ask and print; returns the exit code."""
    bridge = Bridge.open()
    agent, prompt = agent_and_prompt(bridge, words or [])
    progress = Progress(agent)
    interrupts = Interrupts()
    interrupts.on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def on_stage(stage: Stage) -> None:
        interrupts()
        progress(stage)

    try:
        with hint_of_quotes(words or []), progress:
            result = bridge.ask(
                prompt,
                agent,
                schema=read_schema(schema),
                timeout_s=timeout_s,
                route=route,
                fallback=fallback,
                fallback_after_s=fallback_after_s,
                model=from_here(model, bridge.settings),
                priority=priority,
                arguments=read_pairs("--set", arguments),
                variables=read_pairs("--var", variables),
                node=node,
                task_id=task_id,
                dedup_key=dedup_key,
                session=session,
                answer_to_host=answer_to_host,
                on_stage=on_stage,
                on_progress=progress.follow,
            )
    except CannotWaitHere as exc:
        if not as_json:
            say(str(exc.request_id))
        raise
    if as_json:
        say_json(record(result.response))
    else:
        say(answer_text(result.parsed))
        if who := by_whom(result):
            complain(who)
    return of_result(result, accept_degraded=accept_degraded)
