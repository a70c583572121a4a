"""What differs in a project, as text for a prompt: its files, the index, commits.

    scope.py         what is looked at, as `git diff` words it (pure)
    change.py        the change as it was read: a diff, and facts about files (pure)
    collect.py       asks a process of its own for it, bounded in time, memory and size
    reader.py        that process: it can start nothing, connect nowhere, write nothing
    repository.py    what git has: references, commits, the index, read by dulwich
    revisions.py     names of commits, and where two of them parted
    project_files.py the files of the folder; no link is followed
    sides.py         a commit, the index or the files, as one side to compare
    two_sides.py     which two a scope means
    comparison.py    both, file by file
    diffs.py         one file as a unified diff (pure)
    secrets.py       names of files whose content does not go into a prompt (pure)

Nothing of the repository's configuration is obeyed: no filter, hook, external diff or
fsmonitor, and no object is fetched. Two facts in it are read: how long ids are, and
whether the files of this disk say which of them are programs.
"""
