"""Commands that only look at files of the project. Pure.

The client runs such commands without asking. Where a session's mode lets it ask nobody
at all, this list stands for its judgement: it is shorter, and errs on the side of no.
None of these programs writes, runs another or reads a configuration of the project with
the options named here; git does all three.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.policy.command_options import (
    NamedOptions,
    is_about,
    read_named,
    why_not_covered,
)
from bridge.policy.shell_signs import shell_sign

if TYPE_CHECKING:
    from bridge.policy.command_options import IsInside

_LOOKING = """
    basename [] *
    cat [-n -A -b -s] *
    cd [] *
    cut [-d=* -f=* -c=*] *
    diff [-u -r -q -w -B -N] *
    dirname [] *
    du [-s -h -a -c -d=*] *
    echo [-n -e] *
    false [--]
    file [-b] *
    find [-name=* -iname=* -path=* -not -type=* -maxdepth=* -mindepth=* -size=*
        -print] *
    grep [-r -R -n -i -l -L -c -v -w -x -E -F -P -o -h -H -s -q -A=* -B=* -C=* -m=* -e=*
        --include=* --exclude=* --exclude-dir=* --color=*] *
    head [-n=* -c=*] *
    ls [-l -a -A -h -R -1 -t -r -S -d -F] *
    nl [-b=*] *
    pwd [--]
    realpath [] *
    rg [-n -i -l -c -v -w -F -o -S -A=* -B=* -C=* -g=* -t=* -e=* -m=* --files
        --hidden] *
    stat [-c=*] *
    tail [-n=* -c=*] *
    tr [-d -s] *
    tree [-a -d -L=* -I=*] *
    true [--]
    wc [-l -w -c -m] *
    which [-a] *
"""
_RULES = [
    rule
    for line in re.split(r"\n {4}(?! )", _LOOKING)
    if isinstance(rule := read_named(" ".join(line.split())), NamedOptions)
]
_BETWEEN = re.compile(r"&&|\|\||[|;\n]")
# Errors go nowhere, or to where the output goes.
_ERRORS = re.compile(r"\s2>\s?(?:/dev/null|&1)(?=[\s|;&]|\Z)")
# `head -20` is `head -n 20`.
_LINES = re.compile(r"\A(head|tail) -(?=\d)")


def only_looks(command: str, is_inside: IsInside) -> bool:
    """Whether a command only looks, as far as its text tells.

    It is split wherever a sign could separate two commands. If one stood in quotes, a
    part has a quote that is not closed, and does not count.
    """
    parts = _BETWEEN.split(_ERRORS.sub("", command.strip()))
    return all(_looks(part.strip(), is_inside) for part in parts)


def _looks(part: str, is_inside: IsInside) -> bool:
    if shell_sign(part) is not None:
        return False
    part = _LINES.sub(r"\1 -n ", part)
    return any(
        is_about(rule, part) and why_not_covered(rule, part, is_inside) is None
        for rule in _RULES
    )
