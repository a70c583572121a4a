"""What a page shows, compared with what a command prints."""

import pytest
from docs.pages import Block, matches

ID, OTHER = "1k0t3fvvgkr-n-hj92wn", "1k0x2pqnx27-h-kzfzwc"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("", "anything", True),
        ("success: yes\n", "success: yes", True),
        ("success: yes\n", "success: no", False),
        ("success: yes\n", "success: yes\nand more", False),
        ("agents  bell\n", "agents\nbell\n", True),
        ('{"success":true,…}', '{"success":true,"raw":"yes"}', True),
        ("a … c", "a b", False),
        (f"{ID}  success  14.2 s", f"{OTHER}  success  0.7 s", True),
        (f"{ID}  success", "1k0x2pqnx27  success", False),
    ],
)
def test_what_counts_as_the_same(shown, printed, same):
    assert matches(shown, printed) is same


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("# ~/.hostbridge/agents/a.yaml\nname: a\n", "~/.hostbridge/agents/a.yaml"),
        ("#!/bin/sh\n# .git/hooks/pre-commit\nls\n", ".git/hooks/pre-commit"),
        (
            "---\n# ~/.hostbridge/agents/a.md\nname: a\n---\n",
            "~/.hostbridge/agents/a.md",
        ),
        ("# Makefile\nall:\n", "Makefile"),
        ("# two words\nls\n", None),
        ("hostbridge ask # a comment\n", None),
    ],
)
def test_which_file_a_block_is(text, file):
    assert Block("sh", text, 1).file == file
