"""The change of a project that is not committed yet, as text for a prompt.

    collect.py       asks a process of its own for it, bounded in time, memory and size
    reader.py        that process: it can start nothing, connect nowhere, write nothing
    repository.py    what git has: HEAD, the index, objects, read by dulwich
    project_files.py the files of the folder; no link is followed
    uncommitted.py       both side by side
    diffs.py         one file as a unified diff (pure)
    secrets.py       names of files whose content does not go into a prompt (pure)

Nothing of the repository's configuration is read: no filter, hook, external diff or
fsmonitor, and no object is fetched.
"""
