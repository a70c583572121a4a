"""The story of one request as a screen: who asked what, what happened, how it ended.

Text from outside is indented: no line of a prompt or an answer can pose as ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bridge.api.result import result_of
from bridge.cli.asking.answer_text import answer_text
from bridge.cli.asking.question_prompt import question_lines
from bridge.cli.common.output import ago, counted, json_text, span, usage_text
from bridge.cli.records.show_history import (
    call_lines,
    clock,
    history_lines,
    kept_lines,
    run_lines,
    try_lines,
)
from bridge.cli.screen.screen import Line, Styled, styled_as, wrapped
from bridge.protocol.failure_codes import cure_of
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.retries import pause_words
from bridge.protocol.status import Status
from bridge.protocol.wording import one_line, seconds
from bridge.store.host_process import Liveness, liveness
from bridge.store.questions import question_of

if TYPE_CHECKING:
    from bridge.api.history import Story
    from bridge.api.hosts import NoHostReason

_LINES = 8
_CHARS = 1_000
_FACT_CHARS = 200
_NAME_WIDTH = 10
_INDENT = "    "
_ROUTES = {
    "host": "an open session (host)",
    "manual": "a person (manual)",
    "none": "none: nobody took it",
}


class StoryScreen:
    """Draws one story.

    Args:
        story: what is known.
        now_ms: the time it is looked at.
        width: of the terminal; None for a pipe.
        full: nothing is cut.
        why_waiting: why no open session takes it, if none does.
    """

    def __init__(
        self,
        story: Story,
        *,
        now_ms: int,
        width: int | None = None,
        full: bool = False,
        why_waiting: NoHostReason | None = None,
    ) -> None:
        self._story = story
        self._now_ms = now_ms
        self._width = width
        self._full = full
        self._why_waiting = why_waiting

    def lines(self) -> list[Line]:
        """All sections, in the order in which things happened."""
        return list(self._lines())

    def _lines(self) -> Iterator[Line]:
        story, width, full = self._story, self._width, self._full
        request, response = story.request, story.response
        yield from self._fact("request", Styled(story.request_id, "bold"))
        yield from self._fact("status", self._status())
        if story.problem is not None:
            yield from self._section("problem", self._whole(story.problem))
        if request is not None:
            yield from self._asked(request)
            yield from self._served(request, response)
            yield from self._matter(request)
            yield from self._questions(request)
        if self._why_waiting is not None:
            why, ways, _ = self._why_waiting
            yield from self._section("why it waits", self._whole(f"{why}: {ways[0]}"))
        if story.near:
            yield from self._section("budgets", self._whole("; ".join(story.near)))
        if full:
            for role, words in story.messages:
                title = f"sent as {role} ({counted(len(words), 'character')})"
                yield from self._section(title, self._words(words))
        if request is not None:
            tries = try_lines(request, width, full=full)
            yield from self._section("tries that failed", tries)
        happened = history_lines(story, width, full=full)
        yield from self._section("what happened", happened)
        calls = call_lines(story, width, full=full)
        yield from self._section("tool calls", calls)
        yield from self._section("run", run_lines(story, width, full=full))
        yield from self._section(
            "rejected answers", kept_lines(story, width, full=full)
        )
        if response is not None:
            yield from self._answer(response)
        files = [f"{_INDENT}{path}" for path in story.files]
        yield from self._section("files", files)

    # Facts: a name, and a value beside it

    def _fact(self, name: str, value: str, *, whole: bool = False) -> Iterator[Line]:
        text = one_line(value, len(value) if whole else _FACT_CHARS)
        first, *others = wrapped(text, self._width, " " * _NAME_WIDTH)
        name = Styled(f"{name:<{_NAME_WIDTH}}", "dim")
        yield name, styled_as(value, first[_NAME_WIDTH:])
        yield from others

    def _status(self) -> Styled:
        story = self._story
        response, request = story.response, story.request
        if response is not None:
            words = f"{story.status} after {response.duration / 1000:.1f} s"
            return Styled(words, "green" if response.success else "red")
        if story.problem is not None:
            return Styled("there, but it cannot be read", "red")
        if story.status is None:
            return Styled("gone; only traces are left", "red")
        stage = request.stage_at(self._now_ms).words if request else story.status
        if request and (pause := pause_words(request, self._now_ms)):
            return Styled(f"{stage}: {pause}", "yellow")
        return Styled(stage, "cyan" if story.status == Status.PENDING else "green")

    def _asked(self, request: Request) -> Iterator[Line]:
        asked_ms, parent = request.asked_ms, request.parent_request_id
        when = f"{ago((self._now_ms - asked_ms) / 1000)}, {clock(asked_ms)}"
        model = f" ({request.model})" if request.model else ""
        facts = {
            "asked by": f"{request.requester or 'a program'}, {when}",
            "agent": f"{request.agent_type}{model}",
            "parent": f"{parent} (depth {request.depth})" if parent else None,
            "deadline": self._deadline(request),
            "task": request.task_id,
            "priority": request.priority if request.priority != "normal" else None,
            "only for": f"session {request.session}" if request.session else None,
            "context": request.context_from,
            "continues": request.continues,
            "key": request.dedup_key,
        }
        for name, value in facts.items():
            if value:
                yield from self._fact(name, value)
        for name in ("arguments", "variables"):
            if value := getattr(request, name):
                yield from self._fact(name, json_text(value), whole=self._full)

    def _deadline(self, request: Request) -> str:
        allowed = f"{seconds(request.timeout / 1000)} after it was asked"
        if self._story.response is not None:
            return allowed
        left_s = (request.deadline_ms - self._now_ms) / 1000
        return f"{allowed}: {f'in {span(left_s)}' if left_s > 0 else ago(-left_s)}"

    def _served(self, request: Request, response: Response | None) -> Iterator[Line]:
        """The route, and who serves on it."""
        claim = request.claim
        route = response.route if response else request.served_on
        words = [_ROUTES.get(route, route)]
        if response is not None and response.model and _is_known(response):
            words.append(response.model)
        if response is not None and response.degraded:
            words.append("degraded: not to be relied on without verified evidence")
        yield from self._fact("route", ", ".join(words))
        if response is not None and (by := response.served_by) is not None:
            commit = f", commit {by.commit[:12]}" if by.commit else ""
            dirty = " with changes" if by.is_dirty else ""
            yield from self._fact("machine", f"{by.machine}, {by.route}{commit}{dirty}")
        if self._story.usage is not None:
            yield from self._fact("took", usage_text(self._story.usage))
        if claim is None:
            return
        is_gone = response is None and liveness(claim.host) is Liveness.GONE
        pid = f"pid {claim.host.pid}" + (", which is gone" if is_gone else "")
        if claim.route == "host":
            yield from self._fact("session", f"{claim.session} ({pid})")
        else:
            yield from self._fact("served by", pid)
        if claim.agent_id:
            yield from self._fact("agent id", claim.agent_id)
        if claim.continued is not None and not request.goes_on:
            first, question = claim.continued.first, claim.continued.question
            yield from self._fact("continued", f"{first} (question {question})")
        if claim.corrections:
            why = f" (last: {claim.last_failure})" if claim.last_failure else ""
            times = counted(claim.corrections, "time")
            yield from self._fact("corrected", f"{times}{why}")

    # Sections: a heading, and lines that are moved in

    def _section(self, title: str, lines: Iterable[Line]) -> Iterator[Line]:
        found = list(lines)
        if found:
            yield Styled(one_line(title, _FACT_CHARS), "bold")
            yield from found

    def _whole(self, text: str) -> Iterator[str]:
        """Words of ours: paths and commands in them are not divided."""
        return wrapped(text, self._width, _INDENT, whole_words=True)

    def _words(self, text: str, below: str = "") -> Iterator[str]:
        """Words from outside; the first few lines unless everything is wanted.

        What goes on in the next line is moved in by `below`. Ours is not as far in.
        """
        if self._full:
            yield from wrapped(text, self._width, _INDENT, below=below)
            return
        short = "\n".join(text[:_CHARS].splitlines()[:_LINES])
        yield from wrapped(short, self._width, _INDENT, below=below)
        left = len(text.rstrip()) - len(short.rstrip())
        if left > 0:
            yield f"  … {counted(left, 'more character')} (--full)"

    def _matter(self, request: Request) -> Iterator[Line]:
        """The prompt, and what else its agent gets."""
        is_over = self._story.response is not None
        title = f"prompt ({counted(len(request.prompt), 'character')})"
        yield from self._section(title, self._words(request.prompt))
        if request.definition is not None and request.claim is None and not is_over:
            spoken = request.definition.prompt
            title = f"with its definition ({counted(len(spoken), 'character')})"
            yield from self._section(title, self._words(spoken))
        if request.node is not None:
            node = request.node
            title = f"node {node.file}, line {node.line}, {node.type} {node.name}"
            yield from self._section(title, self._words(node.text))
        if request.answer_schema is not None:
            schema = json_text(request.answer_schema, pretty=True)
            yield from self._section("schema", self._words(schema))

    def _questions(self, request: Request) -> Iterator[Line]:
        """What its agents asked, the replies, and what waits for one."""
        for number, each in enumerate(request.exchanges, 1):
            yield from self._section(f"question {number}", self._words(each.words))
            reply = json_text(each.reply)
            yield from self._section("its reply", self._words(reply))
        question = question_of(request)
        if question is None:
            return
        title = f"question {question.number}, without a reply"
        lines = [*map(str, question_lines(question))]
        yield from self._section(title, lines)
        if self._story.response is None:
            cure = f"hostbridge reply {request.request_id} VALUE"
            yield from self._section("to reply", self._whole(cure))

    def _answer(self, response: Response) -> Iterator[Line]:
        """The agent's words only where they are not the answer itself."""
        error, raw = response.error, response.raw_output
        if raw and (self._full or response.parsed_output is None):
            title = f"the agent's words ({counted(len(raw), 'character')})"
            yield from self._section(title, self._words(raw))
        if response.parsed_output is not None:
            value = answer_text(result_of(response))
            yield from self._section("answer", self._words(value, _INDENT))
        if error is not None:
            yield Styled(f"failed: {error.code}", "red")
            yield from self._words(error.message)
            cure = cure_of(error.code, error.stage, response.request_id, response.route)
            yield from self._section("what helps", self._whole(cure))


def _is_known(response: Response) -> bool:
    """Whether the model named is the one that answered, not only the one asked for."""
    return response.route != "host" or response.usage is not None
