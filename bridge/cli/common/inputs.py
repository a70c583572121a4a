"""What commands read: prompts and answers, from arguments, pipes and files.

Every problem names the file and the place in it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents import known_agents
from bridge.api.options import AskOptions, SubmitOptions
from bridge.cli.common.model_name import from_here
from bridge.cli.common.output import complain
from bridge.cli.common.read_file import all_of, bytes_of, decoded
from bridge.errors import InvalidRequest, UnknownAgent
from bridge.protocol import plain_json
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from argparse import Namespace

    from bridge.api.bridge import Bridge

# Options whose texts may say anything: no condition takes them for yes or no.
_OF_TEXTS = frozenset({"--set", "--param"})
_NO_TEXTS = frozenset({"null", "true", "false"})
_EXAMPLE = '"Which modules lack tests?"'


def agent_and_prompt(bridge: Bridge, options: Namespace) -> tuple[str, str]:
    """Agent and prompt from one or two words; a prompt of `-` is read from stdin.

    With the id of a task an agent is enough, as is one whose template needs no task:
    the prompt is empty then.

    Raises:
        InvalidRequest: there is no prompt, it is not UTF-8, or it lacks quotes.
    """
    words, prog = options.words, options.prog
    if len(words) > 2:  # noqa: PLR2004 - an agent, and the prompt
        raise _unquoted(bridge, options)
    if options.task_id is not None and _is_agent(bridge, words):
        return (*words, GENERAL)[0], ""
    if options.task_id is not None:
        _refuse_unknown_agent(bridge, words, options)
    if len(words) == 1 and _is_agent(bridge, words):
        _check_agent_alone(bridge, words[0], prog)
        return words[0], ""
    agent, prompt = [GENERAL, *words][-2:] if words else (GENERAL, None)
    text = read_words(None, "the prompt") if prompt == "-" else whole(prompt or "")
    if text.strip():
        return agent, text
    wrong = "no prompt (- reads stdin)" if prompt is None else "the prompt is empty"
    typed = " ".join([prog, *words[:-1]])
    raise InvalidRequest(f"{wrong}; try: {typed} {_EXAMPLE}")


def _is_agent(bridge: Bridge, words: list[str]) -> bool:
    """Whether these words are no prompt, but at most an agent."""
    # Looking up agents reads files; a word with spaces cannot be a name.
    return not words or (
        len(words) == 1
        and not any(map(str.isspace, words[0]))
        and words[0] in _known(bridge)
    )


def _refuse_unknown_agent(bridge: Bridge, words: list[str], options: Namespace) -> None:
    """Refuse a word that is given with a task, and is no agent."""
    if len(words) != 1 or any(map(str.isspace, words[0])) or words[0] == "-":
        return
    (word,) = words
    near = known_agents.nearest(word, _known(bridge))
    raise InvalidRequest(
        f"no agent is named {word!r}; {near} (to ask about that word alone: "
        f"{options.prog} {GENERAL} {word} --task-id '{options.task_id}')"
    )


def _check_agent_alone(bridge: Bridge, word: str, prog: str) -> None:
    from bridge.agents.prompt import needs_task

    agents = known_agents.Agents.open(bridge.settings, bridge.store.place.project)
    definition = agents.find(word)
    if definition is None or needs_task(definition):
        raise InvalidRequest(
            f"{word!r} is an agent, and there is no prompt; try: {prog} {word} "
            f"{_EXAMPLE} (to ask about that word alone: {prog} {GENERAL} {word})"
        )


def _unquoted(bridge: Bridge, options: Namespace) -> InvalidRequest:
    import shlex

    words = options.words
    agent = words[:1] if words[0] in _known(bridge) else []
    quoted = shlex.join([*agent, " ".join(words[len(agent) :])])
    return InvalidRequest(
        f"{len(words)} words; put the prompt in quotes: {options.prog} {quoted}"
    )


def _known(bridge: Bridge) -> Collection[str]:
    from bridge.agents.registry import Registry

    project = bridge.store.place.project
    defined = Registry.open(bridge.settings, project).names()
    return {*known_agents.BUILT_IN, *defined}


@contextmanager
def hint_of_quotes(options: Namespace) -> Iterator[None]:
    """Add to the error for an unknown agent that its name may be part of the prompt."""
    try:
        yield
    except UnknownAgent as exc:
        words = options.words
        looks_like_prompt = len(words) > 1 and not any(map(str.isspace, words[1]))
        if not looks_like_prompt or words[1] == "-":
            raise
        import shlex

        one = shlex.quote(" ".join(words))
        raise UnknownAgent(
            f"{exc} (if both words are the prompt, quote them: {options.prog} {one})"
        ) from None


def whole(argument: str, what: str = "the prompt") -> str:
    """An argument unchanged, if it is UTF-8."""
    try:
        return decoded(argument.encode("utf-8", "surrogateescape"), what)
    except UnicodeEncodeError:
        raise InvalidRequest(f"{what} is not UTF-8") from None


def read_words(file: Path | None, what: str) -> str:
    """Words from a file, or from stdin for None and `-`; `what` names them."""
    if file is not None and str(file) != "-":
        return decoded(bytes_of(file), str(file))
    if sys.stdin is None:
        raise InvalidRequest(f"{what} should come from stdin, which is closed")
    if sys.stdin.isatty():
        complain(f"type {what}; Ctrl-D ends it")
    return decoded(all_of(sys.stdin.buffer, what), f"{what} (from stdin)")


def question(options: Namespace, bridge: Bridge) -> dict[str, Any]:
    """The options of `ask` and `submit` that the library takes, too."""
    known = AskOptions.__optional_keys__ | SubmitOptions.__optional_keys__
    same = {name: value for name, value in vars(options).items() if name in known}
    return same | {
        "schema": _schema(bridge, options.schema),
        "model": from_here(options.model, bridge.settings),
        "arguments": read_pairs("--set", options.arguments),
        "variables": read_pairs("--var", options.variables),
    }


def _schema(bridge: Bridge, typed: str | None) -> Any:
    if typed is None:
        return None
    from bridge.cli.common.schema_argument import read_schema

    return read_schema(bridge, typed)


def read_pairs(option: str, values: list[str] | None) -> dict[str, Any]:
    """The values of a repeated option: `NAME=VALUE` is text, `NAME:=JSON` any value.

    Raises:
        InvalidRequest: a value has no `=` or no name, or is not JSON after `:=`; a
            variable would be the text `null`, which is no null.
    """
    found = {}
    for each in values or ():
        name, equals, value = each.partition("=")
        if not equals or not name.strip(":"):
            raise InvalidRequest(
                f"{option} {each!r}: expected NAME=VALUE or NAME:=JSON"
            )
        if option not in _OF_TEXTS and value in _NO_TEXTS and not name.endswith(":"):
            raise InvalidRequest(
                f"{option} {each!r} would be the text {value!r}, which counts as yes; "
                f"for the value: {name}:={value}"
            )
        found[name.removesuffix(":")] = (
            _json_of(f"{option} {each!r}", value)
            if name.endswith(":")
            else whole(value, f"{option} {name}")
        )
    return found


def read_json(file: str) -> Any:
    """A JSON value from a file, or from stdin for `-`.

    Raises:
        InvalidRequest: no such file, or not JSON; says where.
    """
    text = read_words(Path(file), "an event")
    try:
        return plain_json.loads(text)
    except plain_json.JSONDecodeError as exc:
        place = f"{file}:{exc.lineno}:{exc.colno}"
        raise InvalidRequest(f"{place}: not JSON: {exc.msg}") from None


def _json_of(argument: str, text: str) -> Any:
    try:
        return plain_json.loads(text)
    except plain_json.JSONDecodeError as exc:
        raise InvalidRequest(f"{argument}: not JSON: {exc.msg}") from None
