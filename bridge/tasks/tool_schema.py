"""The tables behind the tools: what was called, expanded and validated.

calls        the result of a call, by its key: a call is done once
expansions   how a task is to be divided, and into what it was
validations  each look at a task: running, passed, failed, void or forced
"""

TOOLS = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    result TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE expansions (
    task INTEGER PRIMARY KEY REFERENCES tasks (number) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    spec TEXT NOT NULL,
    saved_ms INTEGER NOT NULL,
    executed_ms INTEGER,
    created TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE validations (
    task INTEGER NOT NULL REFERENCES tasks (number) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('running', 'passed', 'failed', 'void', 'forced')),
    request TEXT,
    summary TEXT NOT NULL DEFAULT '',
    feedback TEXT NOT NULL DEFAULT '[]',
    why TEXT NOT NULL DEFAULT '',
    who TEXT NOT NULL DEFAULT '',
    began_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    PRIMARY KEY (task, turn)
) WITHOUT ROWID;
"""
