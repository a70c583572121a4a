"""What an agent asks, on the terminal of the one who waits; or how to reply elsewhere.

The words and the form are the agent's own, which may have read anything: they are shown
moved in, and with what a terminal obeys made visible. Only what is typed after the
question is a reply. Whoever replies first, here or elsewhere, has replied.
"""

from __future__ import annotations

import select
import sys
import termios
import time
from math import inf
from typing import TYPE_CHECKING, Any

from bridge.agents.trust import InsideSession
from bridge.bound.session_above import only_by_hand
from bridge.cli.common.output import complain, indented, json_text, span, visible
from bridge.cli.screen.terminal import is_foreground, typed_on
from bridge.errors import StateUnavailable
from bridge.protocol.ids import check_id
from bridge.protocol.question import (
    choices_of,
    is_yes_or_no,
    problem_of_reply,
    value_of,
)
from bridge.store.questions import FOLDER, reply_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.api.bridge import Bridge
    from bridge.cli.common.progress import ProgressLine
    from bridge.protocol.question import Question

_LOOK_S = 0.2
_FORM_CHARS = 600


def only_by_a_person(bridge: Bridge) -> None:
    """Refuse what a model could have started: an agent would reply to itself.

    Raises:
        InsideSession: this runs in a session, or an agent of ours has started it.
    """
    only_by_hand(bridge.settings, bridge.store, "hostbridge reply")


def may_ask(bridge: Bridge) -> bool:
    """Whether a person is here who may reply: no model of a session is one."""
    if not (is_foreground() and sys.stderr.isatty()):
        return False
    try:
        only_by_a_person(bridge)
    except InsideSession:
        return False
    return True


class QuestionPrompt:
    """Asks its person what an agent asks; called with each question.

    Where nobody can be asked, stderr says once how to reply, and None is returned.
    """

    def __init__(
        self,
        bridge: Bridge,
        progress: ProgressLine | None = None,
        *,
        timeout_s: float | None = None,
    ) -> None:
        self._bridge = bridge
        self._progress = progress
        # On a clock that nobody sets.
        self._until_s = inf if timeout_s is None else time.monotonic() + timeout_s

    def __call__(self, question: Question) -> Any:
        """The reply that was typed; None if there is none, or somebody was quicker."""
        if self._progress is None:
            return self._asked(question)
        with self._progress.hidden():
            return self._asked(question)

    def _asked(self, question: Question) -> Any:
        if not may_ask(self._bridge):
            head = f"{visible(question.agent_type)} asks:"
            complain("\n".join([head, *question_lines(question)]))
            complain(f"to reply: hostbridge reply {question.request_id} VALUE")
            return None
        left_s = (question.until - self._bridge.store.now_ms()) / 1000
        until_s = min(self._until_s, time.monotonic() + left_s)
        self._show(question, left_s)
        return self._typed(question, until_s)

    def _show(self, question: Question, left_s: float) -> None:
        head = f"{visible(question.agent_type)} asks, {span(left_s)} left:"
        lines = question_lines(question)
        sys.stderr.write(f"\n{head}\n" + "\n".join(lines) + "\n")
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        self._prompt(question)

    def _prompt(self, question: Question) -> None:
        sys.stderr.write(f"Your reply ({_kind(question.form)}): ")
        sys.stderr.flush()

    def _typed(self, question: Question, until_s: float) -> Any:
        stdin = sys.stdin.fileno()
        while time.monotonic() < until_s and self._is_open(question):
            if not select.select([stdin], [], [], _LOOK_S)[0]:
                continue
            try:
                if line := typed_on(stdin):
                    return chosen(question.form, line)
                sys.stderr.write("\n")
            except ValueError as exc:
                complain(f"not a reply: {visible(str(exc))}")
            self._prompt(question)
        sys.stderr.write("\n")
        complain("the question was replied to elsewhere, or its time is over")
        return None

    def _is_open(self, question: Question) -> bool:
        store = self._bridge.store
        request_id = check_id(question.request_id)
        file = reply_file(request_id, question.number)
        try:
            if (store.place.state / FOLDER / file).exists():
                # By a program that wrote it; this process looks after the request.
                store.take_reply(request_id)
            request = store.find_unfinished(request_id)
        except StateUnavailable:
            # The next look is as good.
            return True
        asks = request.asks if request else None
        return asks is not None and asks.number == question.number


def question_lines(question: Question) -> list[str]:
    """A question as it is shown: its words, and what can be chosen, or the form."""
    lines = indented(visible(question.words, kept="\n")).splitlines()
    choices = choices_of(question.form)
    are_numbered = _are_numbered(choices)
    for number, value in enumerate(choices, 1):
        mark = number if are_numbered else "-"
        lines.append(f"    {mark:>3}  {visible(_text(value))}")
    if not choices and _kind(question.form) == "JSON":
        form = json_text(question.form)
        cut = form[:_FORM_CHARS] + ("…" if form[_FORM_CHARS:] else "")
        lines.append(f"    its form: {visible(cut)}")
    return lines


def chosen(form: dict[str, Any], typed: str) -> Any:
    """The reply that was typed: a value, or the number of a choice.

    Where a value is itself a number of the list, no number is one: it is the value.

    Raises:
        ValueError: it is no reply in this form.
    """
    typed = typed.strip()
    choices = choices_of(form)
    try:
        return value_of(form, typed)
    except ValueError:
        is_number = typed.isdecimal() and 0 < int(typed) <= len(choices)
        if not (is_number and _are_numbered(choices)):
            raise
    value = choices[int(typed) - 1]
    if problem := problem_of_reply(form, value):
        raise ValueError(problem)
    return value


def _kind(form: dict[str, Any]) -> str:
    if choices := choices_of(form):
        is_either = _are_numbered(choices)
        return "a number of the list, or the value" if is_either else "one of the list"
    if is_yes_or_no(form):
        return "yes or no"
    return "text" if form.get("type") == "string" else "JSON"


def _are_numbered(choices: Sequence[Any]) -> bool:
    """Whether choices can be told by their numbers: no value is such a number."""
    numbers = {str(number) for number in range(1, len(choices) + 1)}
    return numbers.isdisjoint(_text(value).strip() for value in choices)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
