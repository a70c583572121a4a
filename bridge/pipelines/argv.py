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

# Each stands for an expression while words are split, if the text has it not itself.
_STAND_INS = range(0xE000, 0xF900)
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
    free = (chr(code) for code in _STAND_INS if chr(code) not in command)
    stands_for = dict(zip(free, expressions, strict=False))
    signs = iter(stands_for)
    plain = EXPRESSION.sub(lambda _: next(signs, ""), command).strip()
    bare = _QUOTED.sub('""', plain)
    sign = shell_sign(bare) or expansion_sign(bare)
    if sign or len(stands_for) < len(expressions):
        shown = {"\n": "a line break", "": "it"}.get(sign or "", sign)
        argv = json.dumps(_as_script(plain, stands_for), ensure_ascii=False)
        raise NeedsShell(
            f"exec runs a program without a shell, and {shown} means nothing without "
            f"one; write the list: exec: {argv}"
        )
    words = shlex.split(plain)
    return ["".join(stands_for.get(sign, sign) for sign in word) for word in words]


def _as_script(plain: str, stands_for: dict[str, str]) -> list[str]:
    """A shell that is given the values as arguments: `$1` in place of the first."""
    parts, quote = [], ""
    numbers = {sign: number for number, sign in enumerate(stands_for, 1)}
    for sign in plain:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if sign not in numbers:
            parts.append(sign)
            continue
        name = f"${{{numbers[sign]}}}"
        parts.append({"": f'"{name}"', '"': name, "'": f"'\"{name}\"'"}[quote])
    script = "".join(parts)
    return [
        "bash",
        "-c",
        script,
        *(["bash", *stands_for.values()] if stands_for else []),
    ]
