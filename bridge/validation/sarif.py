"""A validation as SARIF 2.1.0, for editors and CI. Pure.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from typing import Any

from bridge.validation.report import Validation


def sarif_of(validation: Validation, *, version: str) -> dict[str, Any]:
    """The SARIF log, as decoded JSON; `version` is that of hostbridge."""
    driver = {"name": "hostbridge", "version": version, "rules": []}
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": []}
    assert validation.reports is not None  # noqa: S101
    return {"version": "2.1.0", "runs": [run]}
