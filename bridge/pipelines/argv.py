"""A command that is written as one text, split into the words of its argv. Pure.

Programs are run without a shell. A text is split as a shell would split it if it has
nothing that only a shell understands; otherwise the list to write is shown, in which
values are arguments of that shell and never part of what it reads.
"""

from __future__ import annotations

import json
import re
import shlex

from bridge.policy.condition_text import EXPRESSION
from bridge.policy.shell_signs import expansion_sign, shell_sign

# Stand for expressions while words are split: nobody types them.
_FIRST = 0xE000
_LAST = 0xF8FF
# What a shell would hand on as it is: `bash -c 'a | b'` is a plain list of three.
_QUOTED = re.compile(r"""'[^']*'|"[^"\\$`]*\"""")


class NeedsShell(ValueError):
    """A command has something that only a shell understands."""


def split_command(command: str) -> list[str]:
    """The words of a command, expressions as they are written.

    Raises:
        NeedsShell: it has signs of a shell; says the list to write instead.
    """
    expressions = [found[0] for found in EXPRESSION.finditer(command)]
    numbers = iter(range(_FIRST, _LAST))
    plain = EXPRESSION.sub(lambda _: chr(next(numbers)), command).strip()
    bare = _QUOTED.sub('""', plain)
    sign = shell_sign(bare) or expansion_sign(bare)
    if sign or len(expressions) > _LAST - _FIRST:
        shown = {"\n": "a line break", "": "it"}.get(sign or "", sign)
        argv = json.dumps(_as_script(plain, expressions), ensure_ascii=False)
        raise NeedsShell(
            f"exec runs a program without a shell, and {shown} means nothing without "
            f"one; write the list: exec: {argv}"
        )
    words = shlex.split(plain)
    return [_restored(word, expressions) for word in words]


def _restored(word: str, expressions: list[str]) -> str:
    return re.sub(
        f"[{chr(_FIRST)}-{chr(_LAST)}]", lambda one: expressions[_number(one[0])], word
    )


def _number(sign: str) -> int:
    return ord(sign) - _FIRST


def _as_script(plain: str, expressions: list[str]) -> list[str]:
    """A shell that is given the values as arguments: `$1` in place of the first."""
    parts, quote = [], ""
    for sign in plain:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if not _FIRST <= ord(sign) <= _LAST:
            parts.append(sign)
            continue
        name = f"${{{_number(sign) + 1}}}"
        parts.append({"": f'"{name}"', '"': name, "'": f"'\"{name}\"'"}[quote])
    script = "".join(parts)
    return ["bash", "-c", script, *(["bash", *expressions] if expressions else [])]
