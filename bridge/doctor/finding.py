"""What one check says."""

from __future__ import annotations

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
        name: the check's name, a few words.
        verdict: how bad it is.
        found: what was found, one line or a few.
        cause: why it is so, where it is not ok.
        cure: what to do about it.
    """

    name: str
    verdict: Verdict
    found: str
    cause: str = ""
    cure: str = ""


def ok(name: str, found: str) -> Finding:
    """Nothing is wrong here."""
    return Finding(name, Verdict.OK, found)


def warning(name: str, found: str, *, cause: str, cure: str) -> Finding:
    """It works, but not as it could."""
    return Finding(name, Verdict.WARNING, found, cause, cure)


def problem(name: str, found: str, *, cause: str, cure: str) -> Finding:
    """It does not work."""
    return Finding(name, Verdict.PROBLEM, found, cause, cure)
