-- One row: who owns the run. Every write transaction compares its fence first.
CREATE TABLE owner (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    host TEXT NOT NULL,
    fence INTEGER NOT NULL
) STRICT;

CREATE TABLE shape (
    generation INTEGER PRIMARY KEY,
    shape BLOB NOT NULL,
    source TEXT NOT NULL,
    who TEXT NOT NULL,
    plan TEXT,
    file_digest TEXT,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE used_plan (
    hash TEXT PRIMARY KEY,
    serial INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
    id INTEGER PRIMARY KEY,
    node_group TEXT NOT NULL,
    plan TEXT NOT NULL,
    fence INTEGER NOT NULL,
    status TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    superseded_by INTEGER,
    goals TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at INTEGER
) STRICT;
CREATE INDEX operation_open ON operation (id) WHERE status = 'active';

-- rank is the precedence of the checkpoint's class; null once a later step of the slot speaks for it.
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    operation INTEGER NOT NULL,
    slot TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    attempt BLOB NOT NULL,
    provider TEXT NOT NULL,
    kind TEXT NOT NULL,
    idem TEXT NOT NULL,
    fence INTEGER NOT NULL,
    timeout INTEGER NOT NULL,
    command BLOB NOT NULL,
    checkpoint TEXT NOT NULL,
    rank INTEGER,
    result TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX step_of_operation ON step (operation, slot);
CREATE INDEX step_by_rank ON step (operation, rank, id) WHERE rank IS NOT NULL;

CREATE TABLE record (
    slot TEXT PRIMARY KEY,
    record BLOB NOT NULL
) STRICT;

CREATE TABLE group_hold (
    node_group TEXT PRIMARY KEY,
    hold BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    first_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    pass INTEGER NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;
CREATE INDEX event_of_subject ON event (subject);

CREATE TABLE pass (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    cause TEXT NOT NULL,
    facts INTEGER NOT NULL,
    transitions INTEGER NOT NULL,
    effects INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    micros INTEGER NOT NULL
) STRICT;
