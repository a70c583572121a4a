"""Names of commits: `HEAD~2`, `main^`, `v1.0`, `origin/main`, `1a2b3c`, `A...B`.

Source: gitrevisions(7). Read are names of branches, tags and remotes, ids and their
beginnings, and after them any of `~N`, `^N`, `^{}` and `^{commit}`; not logs (`@{1}`),
texts of messages (`:/fix`), paths (`main:file`), or `ORIG_HEAD` and its like.
"""

import re
from difflib import get_close_matches
from itertools import islice
from types import SimpleNamespace
from typing import Any

from dulwich.graph import find_merge_base
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref, check_ref_format

from bridge.change.repository import Repository, Unreadable
from bridge.errors import InvalidRequest
from bridge.protocol.wording import one_line, quoted

_STEP = re.compile(r"~(\d*)|\^(\d*)(?!\{)|\^\{(?:commit)?\}")
_WORD = re.compile(r"(?P<name>[^~^]+)(?P<steps>(?:[~^].*)?)", re.S)
_HEX = re.compile(r"[0-9a-fA-F]{4,64}")
_HEX_DIGITS = (40, 64)
# In the order in which git tries them.
_PLACES = (
    "{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}",
    "refs/remotes/{}/HEAD",
)  # fmt: skip
_MAX_STEPS = 10_000
_MAX_CANDIDATES = 5
_MAX_TAGS = 10
_SHORT = 10


def find_commit(git: Repository, word: str) -> ObjectID | None:
    """The commit that a word names; None if nothing here has the name.

    Raises:
        InvalidRequest: the name is there, but it is not clear, or not of a commit, or
            there are no such ancestors.
        Unreadable: this clone lacks what it names.
    """
    found = _WORD.fullmatch(word)
    if found is None:
        return None
    start = _named(git, "HEAD" if found["name"] == "@" else found["name"])
    if start is None:
        return None
    commit_id = _peeled(git, start, word)
    position, steps = 0, found["steps"]
    while position < len(steps):
        step = _STEP.match(steps, position)
        if step is None:
            return None
        commit_id = _stepped(git, commit_id, step, word)
        position = step.end()
    return commit_id


def get_commit(git: Repository, word: str) -> ObjectID:
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


def fork_of(git: Repository, base: ObjectID, tip: ObjectID, words: str) -> ObjectID:
    """The commit at which `tip` left `base`: the first, if there are several.

    Raises:
        InvalidRequest: they have no commit in common, as far as this clone knows.
    """

    def parents_of(commit_id: ObjectID, **_: object) -> list[ObjectID]:
        if commit_id in git.shallow:
            return []
        return _commit(git, commit_id).parents

    # Not dulwich's own provider: a file of the repository may tell it other parents.
    parents = SimpleNamespace(get_parents=parents_of, shallows=set(git.shallow))
    repo: Any = SimpleNamespace(
        object_store=git.objects, parents_provider=lambda: parents
    )
    found = find_merge_base(repo, [base, tip])
    if found:
        return found[-1]
    what = f"{quoted(words)}: the two have no commit in common"
    if not git.shallow:
        raise InvalidRequest(what, ways=("name them as A..B",))
    ends = ", ".join(short(each) for each in sorted(git.shallow)[:_MAX_CANDIDATES])
    raise InvalidRequest(
        f"{what} in this shallow clone, which ends at {ends}",
        ways=("git fetch --unshallow",),
    )


def short(commit_id: ObjectID) -> str:
    """The beginning of an id."""
    return commit_id.decode("ascii", "replace")[:_SHORT]


def _named(git: Repository, name: str) -> ObjectID | None:
    """What a branch, a tag, a remote or an id stands for."""
    is_id = _HEX.fullmatch(name)
    if is_id and len(name) in _HEX_DIGITS:
        full = ObjectID(name.lower().encode("ascii"))
        return full if full in git.objects else None
    for place in _PLACES:
        full_name = place.format(name)
        encoded = Ref(full_name.encode("utf-8", "surrogateescape"))
        is_name = full_name.startswith("refs/") and check_ref_format(encoded)
        if not is_name and full_name != "HEAD":
            continue
        if (found := git.commit_at(encoded)) is not None:
            return found
    return _by_beginning(git, name.lower()) if is_id else None


def _by_beginning(git: Repository, start: str) -> ObjectID | None:
    """The commit or tag whose id begins so."""
    found = [
        each
        for each in git.objects.iter_prefix(start.encode("ascii"))
        if isinstance(git.objects[each], Commit | Tag)
    ]
    if len(found) > 1:
        shown = ", ".join(map(short, sorted(found)[:_MAX_CANDIDATES]))
        raise InvalidRequest(
            f"{quoted(start)} is the beginning of {len(found)} commits: {shown}",
            ways=("write more of the id",),
        )
    return found[0] if found else None


def _peeled(git: Repository, object_id: ObjectID, word: str) -> ObjectID:
    """The commit itself, behind tags."""
    for _ in range(_MAX_TAGS):
        found = _object(git, object_id)
        if isinstance(found, Commit):
            return object_id
        if not isinstance(found, Tag):
            break
        object_id = found.object[1]
    raise InvalidRequest(f"{quoted(word)} does not name a commit")


def _stepped(
    git: Repository, commit_id: ObjectID, step: re.Match[str], word: str
) -> ObjectID:
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


def _parent(git: Repository, commit_id: ObjectID, number: int, word: str) -> ObjectID:
    if commit_id in git.shallow:
        raise InvalidRequest(
            f"{quoted(word)}: this shallow clone ends at {short(commit_id)}",
            ways=("git fetch --unshallow",),
        )
    parents = _commit(git, commit_id).parents
    if number > len(parents):
        raise InvalidRequest(
            f"{quoted(word)}: commit {short(commit_id)} has {len(parents)} parents"
        )
    return parents[number - 1]


def _commit(git: Repository, commit_id: ObjectID) -> Commit:
    found = _object(git, commit_id)
    if not isinstance(found, Commit):
        raise Unreadable(f"{short(commit_id)} is no commit")
    return found


def _object(git: Repository, object_id: ObjectID) -> Any:
    try:
        return git.objects[object_id]
    except KeyError:
        raise Unreadable(f"this clone lacks the object {short(object_id)}") from None


def near(git: Repository, word: str) -> tuple[str, ...]:
    """What helps: branches and tags that are called similarly."""
    known: dict[str, None] = {}
    for name in islice(git.refs.allkeys(), 5000):
        told = name.decode("utf-8", "backslashreplace")
        known[told.split("/", 2)[-1]] = None
    near = get_close_matches(word, list(known), n=3)
    return tuple(f"did you mean {one_line(each, 100)}?" for each in near)
