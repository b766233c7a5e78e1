-- One row per group whose update is under way.
CREATE TABLE rollout (
    node_group TEXT PRIMARY KEY,
    rollout BLOB NOT NULL
) STRICT, WITHOUT ROWID;
