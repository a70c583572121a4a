"""What one check says."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How bad it is, from good to bad."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact and what it means.

    Attributes:
        verdict: how bad it is.
        found: what was found, in one or a few lines.
        cause: why, unless all is well.
        cure: what to do about it.
        name: the name of the check; the table of checks sets it.
    """

    verdict: Verdict
    found: str
    cause: str = ""
    cure: str = ""
    name: str = ""


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(Verdict.OK, found)


def warning(found: str, cause: str, cure: str) -> Finding:
    """It works, but not as well as it could."""
    return Finding(Verdict.WARNING, found, cause, cure)


def problem(found: str, cause: str, cure: str) -> Finding:
    """It does not work."""
    return Finding(Verdict.PROBLEM, found, cause, cure)
