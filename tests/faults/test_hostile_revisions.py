"""A stranger's repository, whose commits and index are named: it stays data (P8)."""

import subprocess
from binascii import unhexlify
from contextlib import suppress
from hashlib import sha1

import gitworld
import needs
import pytest
from trapworld import Traps

from bridge.change.collect import read_change
from bridge.change.scope import parse_scope
from bridge.errors import InvalidRequest

pytestmark = pytest.mark.faults

BESIDE = "what stands beside the project\n"


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "beside").write_text(BESIDE)
    repo = gitworld.Repository(tmp_path / "app")
    repo.write("a", "1\n")
    repo.commit("second")
    return repo


def stored(repo: gitworld.Repository, kind: str, data: bytes) -> str:
    """The id of an object that git itself would refuse."""
    command = (needs.tool("git"), "hash-object", "-t", kind, "--literally", "-w")
    done = subprocess.run(
        [*command, "--stdin"],
        cwd=repo.folder,
        input=data,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def commit_of(repo: gitworld.Repository, *path: bytes) -> str:
    """A commit with a file at a path that git itself would refuse."""
    found, mode = stored(repo, "blob", b"x\n"), b"100644"
    for name in reversed(path):
        tree = b"%s %s\0%s" % (mode, name, unhexlify(found))
        found, mode = stored(repo, "tree", tree), b"40000"
    return repo.git("commit-tree", found, "-m", "x").strip()


@pytest.mark.parametrize(
    "path",
    [
        (b"..", b"beside"),
        (b".", b"a"),
        (b"sub", b"..", b"..", b"beside"),
        (b".GIT", b"config"),
    ],
    ids=lambda parts: b"/".join(parts).decode(),
)
@pytest.mark.parametrize("words", [["{}"], ["{}..HEAD"], ["HEAD..{}"], ["HEAD...{}"]])
def test_a_path_that_leaves_the_project_is_refused(repo, path, words):
    """Otherwise the file beside the project would be in the prompt."""
    made = commit_of(repo, *path)
    repo.git("update-ref", "refs/heads/evil", made)
    scope = parse_scope([words[0].format("evil"), "--"])
    if "..." in words[0]:
        scope = parse_scope([f"evil...{made}", "--"])

    change = read_change(repo.folder, scope)

    assert BESIDE not in str(change)
    assert not change.is_whole
    assert "which is no plain path" in change.notes[0]
    repo.git("update-ref", "refs/heads/main", made)
    assert BESIDE not in str(read_change(repo.folder))


def test_an_index_that_leaves_the_project_is_refused(repo):
    repo.write("a__beside", "x\n")
    repo.git("add", "a__beside")
    file = repo.folder / ".git" / "index"
    # The checksum of an index may be left out: `index.skipHash`.
    file.write_bytes(file.read_bytes()[:-20].replace(b"a__b", b"../b") + bytes(20))

    for staged in (False, True):
        change = read_change(repo.folder, parse_scope([], staged=staged))
        assert BESIDE not in str(change)
        assert "which is no plain path" in change.notes[0]


@pytest.mark.parametrize(
    "harm",
    [
        "ln -s ../../../../other/.git/refs/heads/main .git/refs/heads/evil",
        "echo ref: ../../other/.git/refs/heads/main > .git/refs/heads/evil",
        "ln -s ../../../other/.git/refs/heads .git/refs/evil; :",
        "rm .git/packed-refs; ln -s ../../other/.git/packed-refs .git/packed-refs",
        "ln -s ../../other/.git/shallow .git/shallow",
    ],
)
def test_a_name_that_leads_to_another_repository_is_refused(repo, tmp_path, harm):
    other = gitworld.Repository(tmp_path / "other")
    other.write("a", BESIDE)
    other.commit("secret")
    other.git("branch", "evil")
    repo.git("pack-refs", "--all")
    subprocess.run(["sh", "-c", harm], cwd=repo.folder, check=True)

    for name in ("evil", "refs/evil/evil"):
        with suppress(InvalidRequest):
            change = read_change(repo.folder, parse_scope([name, "--"]))
            assert BESIDE not in str(change)
            assert not change.is_whole
            assert "leads to" in change.notes[0]


def test_nothing_runs_when_commits_are_compared(repo, tmp_path):
    """No filter, text conversion, external diff or fetch, whatever is configured."""
    traps = Traps(tmp_path)
    traps.arm(repo.folder)
    repo.write(".gitattributes", "* diff=x filter=x\n")

    for words in (["HEAD~1..HEAD"], ["HEAD~1...HEAD"], ["HEAD~1"]):
        assert read_change(repo.folder, parse_scope([*words, "--"])).files
    read_change(repo.folder, parse_scope([], staged=True))

    assert traps.ran() == []


def test_a_forged_commit_graph_hides_nothing(repo):
    """It could say that a branch never left the other one."""
    repo.git("checkout", "-qb", "feature")
    repo.write("b", "1\n")
    repo.commit("third")
    repo.git("commit-graph", "write", "--reachable")
    graph = repo.folder / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o644)
    forged = bytearray(graph.read_bytes()[:-20])
    at = forged.index(b"CDAT") + 4
    data = int.from_bytes(forged[at : at + 8], "big")
    for entry in range(data, data + 3 * 36, 36):
        # That of a first parent, where there is none.
        forged[entry + 20 : entry + 24] = b"\x70\0\0\0"
    graph.write_bytes(forged + sha1(forged, usedforsecurity=False).digest())

    change = read_change(repo.folder, parse_scope(["main...feature", "--"]))

    assert [each.path for each in change.files] == ["b"]


def test_a_tree_that_unpacks_to_millions_ends_in_time(repo):
    """Each tree holds the one before it ten times."""
    found, mode = stored(repo, "blob", b"x\n"), b"100644"
    for _ in range(8):
        lines = (b"%s %d\0%s" % (mode, n, unhexlify(found)) for n in range(10))
        found, mode = stored(repo, "tree", b"".join(lines)), b"40000"
    made = repo.git("commit-tree", found, "-m", "bomb").strip()

    change = read_change(repo.folder, parse_scope([f"HEAD..{made}"]), timeout_s=4)

    assert not change.is_whole
    assert change.notes[0].startswith("The change could not be read: ")


def test_ten_thousand_files_are_counted_and_not_all_listed(repo):
    for number in range(3000):
        repo.write(f"made/{number}.txt", "x\n")

    change = read_change(repo.folder, timeout_s=300)

    assert len(change.files) + change.more_files == 3000
    assert len(change.files) == 2000
    assert not change.is_whole


def test_a_loose_object_that_is_a_link_is_refused(repo, tmp_path):
    """It could be the text of another repository."""
    found = repo.git("rev-parse", "HEAD:a").strip()
    file = repo.folder / ".git" / "objects" / found[:2] / found[2:]
    file.rename(tmp_path / "other")
    file.symlink_to(tmp_path / "other")

    change = read_change(repo.folder)

    assert not change.is_whole
    assert "is a link, and no object" in change.notes[0]
