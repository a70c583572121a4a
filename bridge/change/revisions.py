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

_WORD = re.compile(
    r"(?P<name>[^~^]+)(?P<steps>(?:~\d*|\^\{(?:commit)?\}|\^\d*(?!\{))*)", re.S
)
_HEX_DIGITS = 40
_HEX = re.compile(r"[0-9a-fA-F]{4,40}")
# In the order in which git tries them.
_PLACES = (
    "{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}",
    "refs/remotes/{}/HEAD",
)  # fmt: skip
_MAX_SHOWN = 5
_MAX_NAMES = 5000
_SHORT = 10


def find_commit(git: Repository, word: str) -> str | None:
    """The commit that a word names; None if nothing here has the name.

    Raises:
        InvalidRequest: the name is ambiguous, or not of a commit, or has no such
            ancestor.
        Unreadable: this clone lacks what it names, or as `Repository.check_grafts`.
    """
    found = _WORD.fullmatch(word)
    if found is None:
        return None
    start = _named(git, "HEAD" if found["name"] == "@" else found["name"])
    if start is None:
        return None
    git.object(start)
    if found["steps"]:
        git.check_grafts()
    try:
        return str(git.lib.revparse_single(f"{start}{found['steps']}^{{commit}}").id)
    except (KeyError, ValueError, pygit2.GitError):
        raise _refusal(git, f"{quoted(word)} names no commit") from None


def _refusal(git: Repository, what: str) -> InvalidRequest:
    """What is not here; in a shallow clone it may be elsewhere."""
    if not git.shallow:
        return InvalidRequest(what)
    ends = ", ".join(each[:_SHORT] for each in sorted(git.shallow)[:_MAX_SHOWN])
    return InvalidRequest(
        f"{what} in this shallow clone, which ends at {ends}",
        ways=("git fetch --unshallow",),
    )


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
    raise _refusal(git, f"{quoted(words)}: the two have no commit in common")


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
    """The object that a branch, a tag, a remote or an id names."""
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
    return _expanded(git, name) if is_id else None


def _expanded(git: Repository, start: str) -> str | None:
    """The only id that begins so."""
    try:
        return str(git.lib.expand_id(start))
    except KeyError:
        return None
    except ValueError:
        raise InvalidRequest(
            f"{quoted(start)} is the beginning of several ids",
            ways=("write more of the id",),
        ) from None


def near(git: Repository, word: str) -> tuple[str, ...]:
    """What helps: branches and tags that are called similarly."""
    names = git.lib.raw_listall_references()[:_MAX_NAMES]
    known = {
        name.decode("utf-8", "backslashreplace").split("/", 2)[-1]: None
        for name in names
    }
    found = get_close_matches(word, list(known), n=3)
    return tuple(f"did you mean {one_line(each, 100)}?" for each in found)
