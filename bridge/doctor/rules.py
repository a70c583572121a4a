"""Rules: what is wrong in their files, and what waits for trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, ok, problem, warning
from bridge.rules.layers import live, sources, untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject


def files(subject: Subject) -> Iterator[Finding]:
    """Whether the rules files can be read, and are in force."""
    if subject.place is None:
        return
    found = sources(subject.settings, subject.place)
    read = [file for file in live(found) if file.layer != "built-in"]
    for file in untrusted(found):
        yield warning(
            f"{file} is not trusted as it is",
            "its rules do nothing; those that you trusted before stay in force",
            "look at it, and agree: hostbridge trust",
        )
    errors = [error for file in read for error in file.errors]
    if errors:
        more = f", and {len(errors) - 1} more" if errors[1:] else ""
        yield problem(
            f"{errors[0]}{more}",
            "a rule with an error blocks what it is about, or does nothing",
            "hostbridge rules check",
        )
    elif read:
        count = sum(len(file.rules) for file in read)
        yield ok(f"{count} in {', '.join(str(file.file) for file in read)}")
