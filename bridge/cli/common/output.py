"""What commands print: text that cannot control a terminal, JSON for any program.

Prompts and answers come from outside. Whatever is printed as text goes through `say`
or `complain`, which strip control characters and escape sequences; in JSON they are
escaped, so that the value stays what it was.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.screen.screen import Line, folded, printed, screen_of
from bridge.errors import BridgeError
from bridge.protocol.response import RequestFailed, Response
from bridge.protocol.value import Value
from bridge.protocol.wording import clean, unseen
from bridge.store.location import with_tilde

if TYPE_CHECKING:
    from argparse import Namespace

    from bridge.protocol.usage import Usage


# Characters that orjson leaves alone, and that a terminal may obey or reorder text by.
_ODD = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_FIRST = ("requestId", "success", "route", "parsedOutput")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def say(*lines: Line) -> None:
    """Print a result for people."""
    colour = screen_of(sys.stdout).colour
    sys.stdout.write(printed(lines, colour=colour) + "\n")
    # Whoever reads a pipe wants each result as soon as it is there.
    sys.stdout.flush()


def tell(*lines: Line) -> None:
    """Print a result for people; lines of ours that are too long go on below."""
    width = screen_of(sys.stdout).width
    say(*folded(lines, width, whole_words=True))


def complain(text: str) -> None:
    """Print on stderr, for people, under our name."""
    sys.stdout.flush()
    sys.stderr.write(f"hostbridge: {clean(text, len(text))}\n")


def visible(text: str, *, kept: str = "") -> str:
    r"""`text` with what a terminal obeys or hides as `\u202e`, except `kept`.

    Where a backslash could be read as the beginning of such an escape, or stands in
    front of one, it is doubled: no two texts become the same.
    """
    hidden = unseen(text, kept=kept)
    odd = "".join(map(re.escape, hidden))
    ahead = rf"u[0-9a-f]{{4}}|U[0-9a-f]{{8}}|[\0{odd}]"
    text = re.sub(rf"(?<!\\)\\+(?={ahead})", r"\g<0>\g<0>", text)
    return text.translate({ord(char): _escape(char) for char in hidden})


def prose(words: str, below: str = "    ") -> str:
    """Words of a person or an agent: lines after the first begin with `below`.

    So they cannot pose as lines of ours. What is a name in one of ours is shown by
    `visible`, in which a line break is no more than a character.
    """
    return visible(words.strip(), kept="\n\t").replace("\n", f"\n{below}")


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def say_json(value: Any, *, pretty: bool = False) -> None:
    """Print one JSON value, by default on one line; UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value, pretty=pretty).encode() + b"\n")
    sys.stdout.buffer.flush()


def say_result(options: Namespace, value: Any, *lines: Line) -> None:
    """Print a result as JSON with `--json`, otherwise for people."""
    if options.as_json:
        say_json(value)
    else:
        tell(*lines)


def short_path(path: Path) -> str:
    """A path as a person who is here would type it: from here, or with a `~`."""
    here = Path.cwd()
    return str(path.relative_to(here)) if here in path.parents else with_tilde(path)


def json_text(value: Any, *, pretty: bool = False) -> str:
    """JSON that cannot control a terminal; names of fields become camelCase."""
    import orjson

    option = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_NON_STR_KEYS
    if pretty:
        option |= orjson.OPT_INDENT_2
    try:
        text = orjson.dumps(value, default=_plain, option=option).decode()
    except orjson.JSONEncodeError:
        import json

        # A file name that is not UTF-8: json escapes it, and a reader can undo that.
        text = json.dumps(value, default=_plain, indent=2 if pretty else None)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value.to_data()
    names = getattr(value, "_fields", getattr(value, "__dataclass_fields__", None))
    if names is not None:
        return {_camel(name): getattr(value, name) for name in names}
    return str(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def record(response: Response) -> dict[str, Any]:
    """A response as JSON, with what a reader looks for first at the top."""
    value = response.to_data()
    return {key: value[key] for key in _FIRST} | value


def error_value(error: BridgeError) -> dict[str, Any]:
    """An error as JSON: the response where there is one, the same keys otherwise."""
    if isinstance(error, RequestFailed):
        return record(error.response)
    failure = {"code": error.code, "message": str(error), "stage": error.stage}
    return {"requestId": error.request_id, "success": False, "error": failure}


def span(seconds: float) -> str:
    """A length of time as people say it: `12 s`, `3 min`, `2 h`, `4 d`."""
    for unit_s, name in _UNITS:
        if seconds >= unit_s:
            return f"{seconds / unit_s:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def ago(seconds: float) -> str:
    """How long ago, as people say it: `2 min ago`."""
    return f"{span(seconds)} ago" if seconds >= 1 else "just now"


def counted(number: int, what: str) -> str:
    """How many: `1 character`, `2,000 characters`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def usage_text(usage: Usage) -> str:
    """What an agent took, as a line: `216 tokens in 3 turns: 150 read, 66 written`."""
    read = usage.input_tokens + usage.cache_write_tokens
    words = f"{counted(usage.tokens, 'token')} in {counted(usage.requests, 'turn')}: "
    words += f"{read:,} read, {usage.output_tokens:,} written"
    cached = usage.cache_read_tokens
    return f"{words}; {cached:,} more from the cache" if cached else words


def indented(text: str, prefix: str = "    ") -> str:
    """Every line moved in: words from outside cannot pose as lines of ours."""
    return "\n".join(prefix + line for line in text.splitlines())
