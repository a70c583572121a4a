"""What differs in a project, as text for a prompt: its files, the index, commits.

    scope.py         what is looked at, as `git diff` words it (pure)
    change.py        the change as it was read: a diff, and facts about files (pure)
    collect.py       asks a process of its own for it, bounded in time, memory and size
    reader.py        that process: it can start nothing, connect nowhere, write nothing
    gitfile.py       where a `.git` leads
    git_folder.py    whose folder a `.git` is, and the repository opened by libgit2
    repository.py    what git has: references, commits, the index, texts
    index.py         the index, also a split or a sparse one
    revisions.py     names of commits, and where two of them parted
    project_files.py the files of the folder; no link is followed
    ignored.py       which new files git ignores
    sides.py         a commit, the index or the files, as one side to compare
    two_sides.py     which two a scope means
    comparison.py    both, file by file
    diffs.py         one file as a unified diff (pure)
    told.py          files whose text goes into agents' prompts
    secrets.py       names of files whose content does not go into a prompt (pure)

What the user's git obeys is obeyed: what it ignores, its ends of lines. Nothing of the
repository runs: no filter, hook, external diff or fsmonitor, and no object is fetched.
"""
