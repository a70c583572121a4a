"""The tables of `tasks.db`, as a list of steps from an empty file to now.

`PRAGMA user_version` counts the steps that a file has taken. A step that was released
is never changed: what comes later is another step.
"""

# "hbtk": what `file` and we know the database by.
APPLICATION_ID = 0x6862746B

_TASKS = """
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN
        ('open', 'in_progress', 'needs_review', 'closed', 'escalated')),
    priority INTEGER NOT NULL DEFAULT 2 CHECK (priority BETWEEN 1 AND 3),
    category TEXT NOT NULL DEFAULT '',
    validation_criteria TEXT NOT NULL DEFAULT '',
    parent INTEGER REFERENCES tasks (number),
    assignee TEXT,
    reason TEXT NOT NULL DEFAULT '',
    is_expanded INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    closed_ms INTEGER,
    -- How often it was changed here, and in each other place (by its id) when it was
    -- last imported from there: a version vector.
    revision INTEGER NOT NULL DEFAULT 0,
    seen TEXT NOT NULL DEFAULT '{}',
    -- Keys of an imported record that this hostbridge does not know.
    more TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX tasks_by_parent ON tasks (parent, status);
CREATE INDEX tasks_by_status ON tasks (status, priority, number);
CREATE TABLE dependencies (
    task INTEGER NOT NULL REFERENCES tasks (number) ON DELETE CASCADE,
    depends_on INTEGER NOT NULL REFERENCES tasks (number),
    PRIMARY KEY (task, depends_on)
) WITHOUT ROWID;
CREATE INDEX dependencies_backwards ON dependencies (depends_on);
-- By what this database is known in exports: one row.
CREATE TABLE place (id TEXT NOT NULL);
INSERT INTO place VALUES (lower(hex(randomblob(4))));
CREATE TABLE claims (
    task INTEGER PRIMARY KEY REFERENCES tasks (number) ON DELETE CASCADE,
    at_ms INTEGER NOT NULL,
    pid INTEGER,
    start_time TEXT,
    boot TEXT,
    pid_namespace TEXT,
    run TEXT,
    session TEXT
);
"""

# What was called by a key, expanded and validated:
#   calls        the result of a call, by its key: a call is done once
#   expansions   how a task is to be divided, and into what it was
#   validations  each look at a task: running, passed, failed, void or forced
_TOOLS = """
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

# The request of the agent that holds a task.
_AGENTS = "ALTER TABLE claims ADD COLUMN request TEXT;"

# The versions of a task that were exported or imported, as JSON. What was there before
# counted its changes, by place.
_HISTORY = """
ALTER TABLE tasks ADD COLUMN history TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks DROP COLUMN revision;
ALTER TABLE tasks DROP COLUMN seen;
DROP TABLE place;
"""

# The version that was exported or imported last is enough.
_EXCHANGED = """
ALTER TABLE tasks ADD COLUMN exchanged TEXT NOT NULL DEFAULT '';
UPDATE tasks SET exchanged = json_extract(history, '$[#-1]') WHERE history <> '[]';
ALTER TABLE tasks DROP COLUMN history;
"""

STEPS = (_TASKS, _TOOLS, _AGENTS, _HISTORY, _EXCHANGED)
