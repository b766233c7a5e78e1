-- One row per open operation: which controller answers for it, and until when.
CREATE TABLE operation_lease (
 operation INTEGER PRIMARY KEY, owner TEXT NOT NULL, machine TEXT NOT NULL, fence INTEGER NOT NULL,
 until INTEGER NOT NULL, length INTEGER NOT NULL, handoffs INTEGER NOT NULL, target TEXT
) STRICT;

-- One row per attempt that a provider may hold something for, from before its first effect until its absence was
-- seen. What it takes of its provider is reserved by it. The text is short: it stands in every file.
CREATE TABLE ownership (
 slot TEXT, ordinal INTEGER, attempt BLOB NOT NULL, provider TEXT NOT NULL, cpu_millis INTEGER NOT NULL,
 memory_mib INTEGER NOT NULL, gpus INTEGER NOT NULL, operation INTEGER NOT NULL, controller TEXT NOT NULL,
 fence INTEGER NOT NULL, begun INTEGER NOT NULL, handoffs INTEGER NOT NULL, deleting_at INTEGER,
 dependents TEXT NOT NULL, absence TEXT NOT NULL, admission BLOB, sum INTEGER NOT NULL,
 PRIMARY KEY (slot, ordinal)
) STRICT, WITHOUT ROWID;
