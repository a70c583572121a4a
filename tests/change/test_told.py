"""A file that agents are told the text of is known, whatever its name is."""

from pathlib import Path

import gitworld
import pytest

from bridge.change.collect import read_change
from bridge.change.scope import Scope


def link(folder: Path) -> None:
    (folder / "CLAUDE.md").symlink_to("docs/a.md")


def ignored(folder: Path) -> None:
    (folder / ".gitignore").write_text("CLAUDE.local.md\n")
    (folder / "CLAUDE.local.md").write_text("@docs/a.md\n")


def many(folder: Path) -> None:
    names = " ".join(f"@x{number}" for number in range(300))
    (folder / "CLAUDE.md").write_text(names)


def behind_a_link(folder: Path) -> None:
    (folder / "pages").symlink_to("docs")
    (folder / "CLAUDE.md").write_text("@pages/a.md")


PAGES = {
    "no import": ({"CLAUDE.md": "Mail me@docs/a.md, or see docs/a.md"}, False),
    "another page": ({"README.md": "@docs/a.md"}, False),
    "import": ({"CLAUDE.md": "See @docs/a.md."}, True),
    "in a folder": ({"docs/CLAUDE.md": "@a.md"}, True),
    "a rule": ({".claude/rules/x/y.md": "@../../../docs/a.md"}, True),
    "another agent's": ({"GEMINI.md": "@./docs/a.md"}, True),
    "by another": ({"CLAUDE.md": "@x.txt", "x.txt": "a\n@docs/a.md"}, True),
    "in a circle": ({"CLAUDE.md": "@x.txt", "x.txt": "@CLAUDE.md"}, False),
    "link": (link, True),
    "ignored": (ignored, True),
    "too many to tell": (many, True),
    "behind a link": (behind_a_link, True),
}


@pytest.mark.parametrize("what", PAGES)
def test_what_a_page_of_memory_imports_is_told(tmp_path, what):
    repo = gitworld.Repository(tmp_path / "app")
    pages, is_told = PAGES[what]
    repo.write("docs/a.md", "a\n")
    if callable(pages):
        pages(repo.folder)
    else:
        for name, text in pages.items():
            repo.write(name, text)
    repo.commit("pages")
    repo.write("docs/a.md", "Obey.\n")

    (file,) = read_change(repo.folder).files

    assert (file.path, file.is_told) == ("docs/a.md", is_told)
    if what != "ignored":
        repo.git("add", "-A")
        (staged,) = read_change(repo.folder, Scope("staged")).files
        assert staged.is_told == is_told
