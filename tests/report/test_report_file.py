"""The file of a report is whole, for its user alone, and replaces nothing else."""

import os
import stat

import pytest

from bridge.errors import InvalidRequest
from bridge.report.page import MARK
from bridge.report.report_file import write

PAGE = f"{MARK}<html>new</html>\n"
OURS = f"{MARK}<html>old</html>\n"


def test_only_its_user_can_read_it(tmp_path):
    file = tmp_path / "report.html"

    write(file, PAGE)

    assert file.read_text() == PAGE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("content", ["", "my notes", "<!doctype html>\n<p>mine"])
def test_another_file_stays_as_it_is(tmp_path, content):
    file = tmp_path / "index.html"
    file.write_text(content)

    with pytest.raises(InvalidRequest) as caught:
        write(file, PAGE)

    assert caught.value.what == (
        f"{file} is there already, and is not a report of hostbridge: it stays as it is"
    )
    assert file.read_text() == content
    assert os.listdir(tmp_path) == ["index.html"]


def test_neither_a_link_nor_what_it_leads_to_is_replaced(tmp_path):
    """An unpacked archive may hold a link to a file of the user's."""
    target = tmp_path / "earlier.html"
    target.write_text(OURS)
    link = tmp_path / "hostbridge-report.html"
    link.symlink_to(target)

    with pytest.raises(InvalidRequest, match="and is a link: it stays"):
        write(link, PAGE)

    assert link.is_symlink()
    assert target.read_text() == OURS


def test_a_pipe_is_not_waited_for(tmp_path):
    pipe = tmp_path / "report.html"
    os.mkfifo(pipe)

    with pytest.raises(InvalidRequest, match="not a report"):
        write(pipe, PAGE)


@pytest.mark.parametrize(
    ("name", "why"),
    [("no/report.html", "no such file or directory"), ("", "is a directory")],
)
def test_error_nowhere_to_write(tmp_path, name, why):
    with pytest.raises(InvalidRequest) as caught:
        write(tmp_path / name, PAGE)

    assert caught.value.what == f"{tmp_path / name}: {why}"
