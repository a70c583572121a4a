"""`hostbridge report`: where the page goes, what it says, and what it leaves alone."""

import json
import re
import stat
import time

import pytest

from bridge.report.page import MARK

pytestmark = pytest.mark.slow


def told(page):
    """What a page is told."""
    [text] = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', page
    )
    return json.loads(text)


@pytest.fixture
def asked(project, host):
    """The project, in which one agent has answered and another was not served."""
    with host.serving():
        project.bridge.ask("Which?", "Explore", timeout_s=60)
    project.bridge.cancel(project.submit("Why?", agent="researcher"))
    return project


def test_the_page_is_written_here_for_its_user_alone(asked):
    ran = asked.run("report")

    file = asked.folder / "hostbridge-report.html"
    ran.prints(0, f"{file}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = file.read_text()
    assert page.startswith(MARK)
    data = told(page)
    assert data["project"] == str(asked.folder)
    assert sorted(data["names"]["agent"]) == ["Explore", "researcher"]
    assert (data["names"]["code"], data["meanings"]) == (
        ["cancelled"], ["the request was cancelled"],
    )  # fmt: skip
    assert sum(data["cells"]["ended"]) == 2
    assert sum(data["cells"]["succeeded"]) == 1


def test_python_writes_the_same_page(asked, tmp_path):
    file = asked.bridge.report(tmp_path / "page.html")

    assert file == tmp_path / "page.html"
    assert sum(told(file.read_text())["cells"]["ended"]) == 2


def test_it_can_be_printed(asked):
    ran = asked.run("report", "-")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(MARK)
    assert ran.out.endswith("</html>\n")
    assert not (asked.folder / "hostbridge-report.html").exists()


def test_a_later_report_replaces_it_and_a_program_is_told_where(asked):
    asked.run("report", "week.html", "--since", "7d")
    # What was asked is older than the second that the next one looks at.
    time.sleep(1.1)

    ran = asked.run("report", "week.html", "--since", "1s", "--json")

    file = asked.folder / "week.html"
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {"file": str(file), "bytes": file.stat().st_size}
    assert told(file.read_text())["days"] == []


def test_error_another_file_stays(asked):
    file = asked.folder / "index.html"
    file.write_text("mine")

    ran = asked.run("report", "index.html")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"hostbridge: {file} is there already, and is not a report of hostbridge: it "
        "stays as it is\n  what to do:\n    - give another name\n"
        "    - to print the page, give - as the name\n"
    )
    assert file.read_text() == "mine"


def test_it_is_shown_in_the_browser_of_the_user(asked, tmp_path, until):
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(
        f'#!/bin/sh\necho "$1" >"{seen}.part"; mv "{seen}.part" "{seen}"\n'
    )
    browser.chmod(0o755)

    ran = asked.run("report", "--open", env={"BROWSER": str(browser)})

    file = asked.folder / "hostbridge-report.html"
    ran.prints(0, f"{file}\n")
    until(seen.exists)
    assert seen.read_text() == f"{file.as_uri()}\n"
