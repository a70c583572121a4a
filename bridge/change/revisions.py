"""Names of commits: `HEAD~2`, `main^`, `v1.0`, `origin/main`, `1a2b3c`, `A...B`.

Source: gitrevisions(7). Read are names of branches, tags and remotes, ids and their
beginnings, and after them any of `~N`, `^N`, `^{}` and `^{commit}`; not logs (`@{1}`),
texts of messages (`:/fix`), paths (`main:file`), or `ORIG_HEAD` and its like.
"""

import re
from contextlib import suppress
from difflib import get_close_matches

import pygit2

from bridge.change.git_folder import Unreadable
from bridge.change.repository import Repository
from bridge.errors import InvalidRequest
from bridge.protocol.wording import one_line, quoted

_STEP = re.compile(r"~(\d*)|\^(\d*)(?!\{)|\^\{(?:commit)?\}")
_WORD = re.compile(r"(?P<name>[^~^]+)(?P<steps>(?:[~^].*)?)", re.S)
_HEX = re.compile(r"[0-9a-fA-F]{4,40}")
_HEX_DIGITS = 40
# In the order in which git tries them.
_PLACES = (
    "{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}",
    "refs/remotes/{}/HEAD",
)  # fmt: skip
_MAX_STEPS = 10_000
_MAX_CANDIDATES = 5
_MAX_NAMES = 5000
_NAMED = (pygit2.Commit, pygit2.Tag)
_SHORT = 10


def find_commit(git: Repository, word: str) -> str | None:
    """The commit that a word names; None if nothing here has the name.

    Raises:
        InvalidRequest: the name is there, but it is not clear, or not of a commit, or
            there are no such ancestors.
        Unreadable: this clone lacks what it names, or as `Repository.check_grafts`.
    """
    found = _WORD.fullmatch(word)
    if found is None:
        return None
    start = _named(git, "HEAD" if found["name"] == "@" else found["name"])
    if start is None:
        return None
    commit_id = _peeled(git, start, word)
    position, steps = 0, found["steps"]
    if steps:
        git.check_grafts()
    while position < len(steps):
        step = _STEP.match(steps, position)
        if step is None:
            return None
        commit_id = _stepped(git, commit_id, step, word)
        position = step.end()
    return commit_id


def get_commit(git: Repository, word: str) -> str:
    """The commit that a word names.

    Raises:
        InvalidRequest: there is none; or as `find_commit`.
        Unreadable: as `find_commit`.
    """
    found = find_commit(git, word)
    if found is not None:
        return found
    if word == "HEAD":
        raise InvalidRequest("there is no commit yet", ways=("git commit",))
    raise InvalidRequest(f"no revision is named {quoted(word)}", ways=near(git, word))


def fork_of(git: Repository, base: str, tip: str, words: str) -> str:
    """The commit at which `tip` left `base`: the first, if there are several.

    Raises:
        InvalidRequest: they have no commit in common, as far as this clone knows.
        Unreadable: history is cut where it counts, or as `Repository.check_grafts`.
    """
    git.check_grafts()
    found = git.lib.merge_base(base, tip)
    if found is not None:
        _check_cut(git, found, (base, tip))
        return str(found)
    what = f"{quoted(words)}: the two have no commit in common"
    if not git.shallow:
        raise InvalidRequest(what)
    ends = ", ".join(each[:_SHORT] for each in sorted(git.shallow)[:_MAX_CANDIDATES])
    raise InvalidRequest(
        f"{what} in this shallow clone, which ends at {ends}",
        ways=("git fetch --unshallow",),
    )


def _check_cut(git: Repository, fork: pygit2.Oid, ends: tuple[str, str]) -> None:
    """Refuse a file `shallow` that hides commits of which one may be the fork.

    Those before the fork that was found do not matter. Many a shallow clone has such
    ends there: with the commits of tags, say.

    Raises:
        Unreadable: there is such an end.
    """

    def is_in(commit_id: str, of: str) -> bool:
        return commit_id == of or git.lib.descendant_of(of, commit_id)

    for each in git.cut():
        if not is_in(each, str(fork)) and any(is_in(each, end) for end in ends):
            raise Unreadable(
                f"a file `shallow` in {git.common} has history end at "
                f"{each[:_SHORT]}, and earlier commits are here: the fork may be "
                "among them",
                ways=("git fetch --unshallow",),
            )


def _named(git: Repository, name: str) -> str | None:
    """What a branch, a tag, a remote or an id stands for."""
    is_id = _HEX.fullmatch(name)
    if is_id and len(name) == _HEX_DIGITS:
        return name.lower() if git.has(name) else None
    for place in _PLACES:
        full = place.format(name)
        is_name = full.startswith("refs/") and pygit2.reference_is_valid_name(full)
        if is_name or full == "HEAD":
            # There is none, or it leads to no commit, or nowhere that is allowed.
            with suppress(KeyError, ValueError, pygit2.GitError):
                return str(git.lib.lookup_reference(full).resolve().target)
    return _by_beginning(git, name.lower()) if is_id else None


def _by_beginning(git: Repository, start: str) -> str | None:
    """The commit or tag whose id begins so."""
    found = [str(each) for each in git.ids() if str(each).startswith(start)]
    found = [each for each in found if isinstance(git.object(each), _NAMED)]
    if len(found) > 1:
        shown = ", ".join(each[:_SHORT] for each in sorted(found)[:_MAX_CANDIDATES])
        raise InvalidRequest(
            f"{quoted(start)} is the beginning of {len(found)} commits: {shown}",
            ways=("write more of the id",),
        )
    return found[0] if found else None


def _peeled(git: Repository, object_id: str, word: str) -> str:
    """The commit itself, behind tags."""
    try:
        return str(git.object(object_id).peel(pygit2.Commit).id)
    except (pygit2.InvalidSpecError, ValueError):
        raise InvalidRequest(f"{quoted(word)} does not name a commit") from None


def _stepped(git: Repository, commit_id: str, step: re.Match[str], word: str) -> str:
    """The ancestor that one `~N` or `^N` leads to."""
    first, nth = step.groups()
    if first is None and nth is None:
        return commit_id
    digits = nth if first is None else first
    if len(digits) > len(str(_MAX_STEPS)):
        raise InvalidRequest(f"{quoted(word)}: {_MAX_STEPS:,} steps is the limit")
    number = int(digits or 1)
    if first is None:
        return _parent(git, commit_id, number, word) if number else commit_id
    for _ in range(min(number, _MAX_STEPS)):
        commit_id = _parent(git, commit_id, 1, word)
    return commit_id


def _parent(git: Repository, commit_id: str, number: int, word: str) -> str:
    if commit_id in git.shallow:
        raise InvalidRequest(
            f"{quoted(word)}: this shallow clone ends at {commit_id[:_SHORT]}",
            ways=("git fetch --unshallow",),
        )
    parents = git.commit(commit_id).parent_ids
    if number > len(parents):
        raise InvalidRequest(
            f"{quoted(word)}: commit {commit_id[:_SHORT]} has {len(parents)} parents"
        )
    return str(parents[number - 1])


def near(git: Repository, word: str) -> tuple[str, ...]:
    """What helps: branches and tags that are called similarly."""
    names = git.lib.raw_listall_references()[:_MAX_NAMES]
    known = {
        name.decode("utf-8", "backslashreplace").split("/", 2)[-1]: None
        for name in names
    }
    found = get_close_matches(word, list(known), n=3)
    return tuple(f"did you mean {one_line(each, 100)}?" for each in found)
