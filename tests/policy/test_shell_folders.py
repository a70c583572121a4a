"""Where the commands of a text may start, beside where bash starts them."""

import shutil
import subprocess

import pytest

from bridge.policy.shell_folders import placed

NOBODY_KNOWS = {"/"}
# A text, and where its last `make` may start.
TEXTS = [
    ("make", {""}),
    ("cd sub && make", {"sub"}),
    ("cd 'sub' 2>/dev/null && make", {"sub"}),
    ("cd sub; make", {"", "sub"}),
    ("cd sub || make", {"", "sub"}),
    ("cd nowhere || cd sub && make", {"", "nowhere", "sub", "nowhere/sub"}),
    ("true & cd sub && make", {"", "sub"}),
    ("cd sub & make", {"", "sub"}),
    ("cat a | cd sub && make", {"", "sub"}),
    ("cd sub && cd .. && make", {"sub/..", "."}),
    ("cd link/.. && make", {"link/..", "."}),
    ("cd ../x && make", NOBODY_KNOWS),
    ("cd sub && cd ../.. && make", NOBODY_KNOWS),
    ("cd sub && make | cat", {"sub"}),
    ("cd sub && cat a | make && make", {"sub"}),
    ("cd sub | make", {""}),
    ("cd nowhere | make", {""}),
    ("cd sub && cd .. | make", {"sub"}),
    ("cd sub | cat && make", {"", "sub"}),
    ("cat a | cd sub; make", {"", "sub"}),
    ("cd sub |& make", {""}),
    ("make && pushd sub", {""}),
    ("make && (cd sub && ls)", {""}),
    ("git commit -m 'cd sub' && make", {""}),
    ("echo 'then cd sub; make' && make", {""}),
    ("bash -c 'cd sub' && make", {""}),
    ("grep -rn cd . ; make", NOBODY_KNOWS),
    ("[ -d sub ] && make", {""}),
    ("command -v make && make", {""}),
    ("LANG=C cd sub && make", NOBODY_KNOWS),
    ("! cd nowhere/.. && make", NOBODY_KNOWS),
    ("cd sub && ! cd ../nowhere/.. && make", NOBODY_KNOWS),
    ("pushd sub; make", NOBODY_KNOWS),
    ("cd -P sub; make", NOBODY_KNOWS),
    ("cd; make", NOBODY_KNOWS),
    ("X=sub; cd $X; make", NOBODY_KNOWS),
    ("c'd' sub; make", {"", "sub"}),
    ("c\\d sub; make", {"", "sub"}),
    ("$'cd' sub; make", {"", "sub"}),
    ("X=cd; $X sub; make", NOBODY_KNOWS),
    ("{c,}d; make", NOBODY_KNOWS),
    ("cd{,} sub; make", NOBODY_KNOWS),
    ("c? sub; make", NOBODY_KNOWS),
    ("builtin cd sub; make", NOBODY_KNOWS),
    ("command -- cd sub; make", NOBODY_KNOWS),
    ("command eval 'cd sub'; make", NOBODY_KNOWS),
    ("eval cd sub; make", NOBODY_KNOWS),
    (". ./moves.sh; make", NOBODY_KNOWS),
    ("X=1 . ./moves.sh; make", NOBODY_KNOWS),
    ("time source moves.sh; make", NOBODY_KNOWS),
    ("trap 'cd sub' DEBUG; make", NOBODY_KNOWS),
    ("f() { cd sub; }; f; make", NOBODY_KNOWS),
    ("cd() { :; }; cd sub; make", NOBODY_KNOWS),
    ("CDPATH=sub; cd in; make", NOBODY_KNOWS),
    ("shopt -s expand_aliases\nalias c='cd sub'\nc\nmake", NOBODY_KNOWS),
    ("mapfile -C 'cd sub;:' -c 1 x < moves.sh; make", NOBODY_KNOWS),
    ("if cd sub; then make; fi", NOBODY_KNOWS),
    ("(cd sub; make)", NOBODY_KNOWS),
    ("{ cd sub; make; }", NOBODY_KNOWS),
    ("for x in 1 2; do make; cd sub; done", NOBODY_KNOWS),
    ("while make; do cd sub || break; done", NOBODY_KNOWS),
    ("case x in x) cd sub;; esac; make", NOBODY_KNOWS),
    ("cd sub && echo $(make)", {"", "sub"}),
    ("cd sub && echo `make`", {"", "sub"}),
    ("cd sub && { make; }", {"", "sub"}),
    ("echo $(cd sub && make)", NOBODY_KNOWS),
    ("cat <<EOF\n$(cd sub && make)\nEOF", NOBODY_KNOWS),
    ("cat <<EOF\ncd sub\nEOF\nmake", {""}),
    ("cd sub <<EOF && make\nx\nEOF", {"sub"}),
    ("make '", NOBODY_KNOWS),
]


@pytest.mark.parametrize(("text", "folders"), TEXTS)
def test_where_a_command_may_start(tmp_path, text, folders):
    """It is where bash starts it, or nobody can tell."""
    found = [one.folders for one in placed(text) if "make" in one.words]
    assert found or folders == NOBODY_KNOWS
    assert not found or found[-1] == folders

    (tmp_path / "sub/in").mkdir(parents=True)
    for name in ("cd", "a"):
        (tmp_path / name).touch()
    (tmp_path / "moves.sh").write_text("cd sub\n")
    (tmp_path / "link").symlink_to("sub/in")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "git"):
        program = programs / name
        program.write_text(f"#!/bin/sh\npwd -P >> {tmp_path}/{name}.log\n")
        program.chmod(0o700)
    env = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path / "sub")}
    bash = shutil.which("bash")
    assert bash

    subprocess.run(
        [bash, "-c", text], cwd=tmp_path, env=env, capture_output=True, check=False
    )

    log = tmp_path / "make.log"
    started = {*log.read_text().split()} if log.exists() else set()
    may = {
        str((tmp_path / each).resolve()) for one in placed(text) for each in one.folders
    }
    assert started <= may or "/" in may


def test_very_many_folders_are_all_folders():
    """Each `cd` may have failed: their number would double with each."""
    text = ";".join([*(f"cd a{number}" for number in range(200)), "ls"])

    *_, last = placed(text)

    assert last.folders == NOBODY_KNOWS
