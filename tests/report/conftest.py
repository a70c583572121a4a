"""The page of some metrics, open in Chromium."""

import needs
import pytest
from browser import Browser

from bridge.report.page import page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = needs.tool("chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def shown(browser, tmp_path):
    """Opens the page of some metrics, 1280 wide and light unless told otherwise."""

    def show(metrics, *, fragment="", **looks):
        file = tmp_path / "report.html"
        file.write_text(page(metrics.to_data()))
        browser.requests.clear()
        browser.complaints.clear()
        browser.show(**looks)
        browser.call("Page.navigate", url="about:blank")
        browser.open(file, fragment=fragment)
        return browser

    yield show
    assert browser.complaints == []
    asked = {url.partition("#")[0] for url in browser.requests} - {"about:blank"}
    assert asked == {(tmp_path / "report.html").as_uri()}
