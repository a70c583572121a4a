"""For every test: signals work, examples have time, and CI skips nothing.

Tests that are marked `full` are further cases of what others show: another mode of the
client, each kill point. Besides `--full`, a tenth of them takes part in each run that
names no tests: the one of the day of the last commit, so that ten days see them all.
"""

from __future__ import annotations

import gc
import os
import signal
import zlib
from typing import TYPE_CHECKING

import forkserver
import pytest
from hypothesis import HealthCheck, settings
from thoroughness import PARTS, due, is_full

from bridge.process import run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.workermanage import WorkerController

# What a shell starts in the background ignores interrupts, what nohup starts the end of
# its terminal; and so do its children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes depends on what else the machine does.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=30, **_PATIENT)
settings.register_profile("full", **_PATIENT)
_STARTS, _FORKS = run.run, forkserver.forks_readers(run.run)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run what `full` marks, too")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if config.getoption("full") else "ci")


def pytest_report_header(config: pytest.Config) -> str:
    if _is_whole(config):
        return "tests marked full: all of them"
    return f"tests marked full: part {due()} of 0 to {PARTS - 1}; all with --full"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: what is made stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if _is_whole(config):
        return
    for item in _further_modes(items):
        item.add_marker("full")
    part = due()
    left_out = {
        item
        for item in items
        if item.get_closest_marker("full")
        and zlib.crc32(item.nodeid.encode()) % PARTS != part
    }
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def _further_modes(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of each scene in the client, all kinds of session and permission modes but one.

    Which one its name says, so that all scenes together show each of them. A `canary`
    is seen in all.
    """
    scenes: dict[tuple, list[pytest.Item]] = {}
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if item.get_closest_marker("host") and not item.get_closest_marker("canary"):
            others = [
                (k, repr(v)) for k, v in params.items() if k not in ("how", "mode")
            ]
            scene = (item.nodeid.partition("[")[0], *others)
            scenes.setdefault(scene, []).append(item)
    for (test, *_), same in scenes.items():
        chosen = zlib.crc32(test.encode()) % len(same)
        yield from same[:chosen] + same[chosen + 1 :]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Have each worker choose the same tests; its own arguments do not tell."""
    node.workerinput["is_whole"] = _is_whole(node.config)


def _is_whole(config: pytest.Config) -> bool:
    """Whether all tests are wanted, of those that were named."""
    if hasattr(config, "workerinput"):
        return config.workerinput["is_whole"]
    is_named = config.args_source == pytest.Config.ArgsSource.ARGS
    return is_named or config.getoption("full")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have hooks, and what reads a repository, forked, unless they start Python."""
    forkserver.starts_python = is_full() or bool(item.get_closest_marker("canary"))
    run.run = _STARTS if forkserver.starts_python else _FORKS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With BRIDGE_TEST_STRICT=1, as in CI, a skip is a failure that says why."""
    report = yield
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    if is_skip and os.environ.get("BRIDGE_TEST_STRICT") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} may not skip here: {report.longrepr}"
    return report
