"""The change of a project that is not committed yet, as text for a prompt.

    read.py        asks a process of its own for it, bounded in time, memory and size
    reader.py      that process: it can start nothing, connect nowhere and write nothing
    repository.py  what git has: HEAD, the index, objects, read by dulwich
    worktree.py    what lies in the folder, no link followed
    compare.py     both beside each other
    alarm.py       ends what takes too long
    diffs.py       one file as a unified diff (pure)
    secrets.py     names of files whose content is not for a prompt (pure)

Nothing of the repository's configuration is read: no filter, hook, external diff or
fsmonitor, and no object is fetched.
"""
