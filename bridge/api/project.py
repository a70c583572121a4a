"""One project: its requests, and what its records tell besides: freshness, figures.

Also its variables, step workflows and tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.api.project_requests import ProjectRequests

if TYPE_CHECKING:
    from bridge.api.active_workflow import Workflows
    from bridge.api.stale import Standing
    from bridge.api.variables import Variables
    from bridge.api.watching import Watched
    from bridge.metrics.metrics import Dimension, Metrics
    from bridge.tasks.tasks import Tasks
    from bridge.tracing.spans import Span


class Project(ProjectRequests):
    """What `Bridge` can do with a project, without asking anybody."""

    def stale(self, ids: Iterable[str] = ()) -> list[Standing]:
        """How answers stand: these, or by default the newest to each question.

        One is stale if something that its agent looked at has changed since: a file,
        the names below a folder, its definition. `Standing.reasons` says what.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: it has no answer that could be checked.
        """
        from bridge.api.stale import Freshness

        return Freshness(self.store, self.settings).standings(ids)

    def watch(self, request_id: str | None = None) -> Watched:
        """Watch what the answer of a request rests on, or all of the project.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: the project cannot be read.
        """
        from bridge.api.stale import Freshness
        from bridge.api.watching import watch

        return watch(Freshness(self.store, self.settings), request_id)

    def write_lock(
        self, path: Path | str, ids: Iterable[str] = ()
    ) -> tuple[int, list[Standing]]:
        """Write what answers rest on into a file for the project to keep.

        By default of all that hold, and that a clone can check. Returns how many it
        has, and those that were left out. An earlier lock is replaced, no other file.

        Raises:
            UnknownRequest: there is no such request.
            InvalidRequest: one of `ids` cannot be locked, or another file is there.
        """
        from bridge.api.answer_lock import write_lock
        from bridge.api.stale import Freshness
        from bridge.protocol.type_checks import check

        check(path=path)
        return write_lock(Freshness(self.store, self.settings), Path(path), ids)

    def check_lock(self, path: Path | str) -> list[Standing]:
        """How the answers in a lock stand; it needs no record of them.

        Raises:
            InvalidRequest: it cannot be read, or is no lock; says in which line.
        """
        from bridge.api.answer_lock import check_lock
        from bridge.protocol.type_checks import check

        check(path=path)
        return check_lock(self.store.place.project, Path(path))

    def spans(self, *, since_s: float | None = None) -> tuple[Span, ...]:
        """What has ended, as spans: of the last `since_s` seconds, or all on record.

        `bridge.tracing.opentelemetry` turns them into OpenTelemetry's own.
        """
        from bridge.store import journal
        from bridge.tracing.spans import spans_of

        if not self.store.exists():
            return ()
        with self.store.state() as state:
            found = tuple(spans_of(journal.lines(state.directory)))
        first_ms = 0 if since_s is None else self.store.now_ms() - since_s * 1000
        return tuple(span for span in found if span.end_ms >= first_ms)

    def stats(
        self,
        *,
        since: str = "7d",
        by: Dimension | Iterable[Dimension] = (),
    ) -> Metrics:
        """What became of requests, flows and tasks: counts, times, tokens.

        `since` is how long ago that begins (`7d`, `24h`), a day (`2026-11-01`), or
        `all`. `by` is what `groups` are grouped by: day, agent, route, model, or
        several of them.

        Raises:
            InvalidRequest: `since` or `by` is something else.
        """
        from bridge.metrics.days import since_ms
        from bridge.metrics.metrics import dimensions_of
        from bridge.metrics.reader import read

        begins_ms, names = since_ms(since, self.store.now_ms()), dimensions_of(by)
        return read(self.store, since_ms=begins_ms, by=names)

    def report(self, path: Path | str, *, since: str = "all") -> Path:
        """Write the page that shows `stats` with charts and tables; returns its path.

        It is one HTML file, which needs no network. An earlier report is replaced, no
        other file is. `since` is that of `stats`.

        Raises:
            InvalidRequest: `since` or `path` is something else, another file is there,
                or it cannot be written.
        """
        from bridge.protocol.type_checks import check
        from bridge.report.page import page
        from bridge.report.report_file import write

        check(path=path)
        file = Path(path).absolute()
        write(file, page(self.stats(since=since).to_data()))
        return file

    def variables(self, session: str | None = None) -> Variables:
        """The variables of an open session, which its rules read.

        By default the session that this runs in, or the only one; in an agent, its own.

        Raises:
            InvalidRequest: it is not open, or there are none, or several.
        """
        from bridge.api.variables import Variables

        return Variables.open(self.store, self.settings, session, "tool")

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Any:
        """Call one of the tools on tasks that agents have, such as `get_task`.

        The result is JSON values, the same as over MCP and in pipelines. With a `key`,
        a call that changes something is done once: repeated, it returns the first
        result.

        Raises:
            InvalidRequest: there is no such tool, or an argument is not what it must
                be; nothing was done.
            TaskRefused, TasksBusy: as the verbs of `tasks`.
        """
        from bridge.api.task_tools import call_tool

        return call_tool(self.store, self.settings, name, arguments or {}, key=key)

    @property
    def workflows(self) -> Workflows:
        """The step workflows of this project's conversations."""
        from bridge.api.active_workflow import Workflows

        return Workflows(self.store, self.settings)

    @property
    def tasks(self) -> Tasks:
        """The tasks of this project, claimed for this program, or its session.

        Raises:
            StateRefused: the state directory is not safe.
        """
        from bridge.api.task_holder import program_here
        from bridge.tasks.tasks import Tasks

        return Tasks(self.store, program_here(self.store, self.settings))
