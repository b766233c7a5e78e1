//! What a journal says, as one digest: the same rows give the same digest, however the file lays them out.

use rusqlite::{Connection, types::ValueRef};
use sha2::{Digest as _, Sha256};

use crate::codec::hex;

/// The tables of a journal and the order of their rows.
pub(super) const TABLES: [(&str, &str); 13] = [
    ("migration", "version"),
    ("owner", "only_row"),
    ("shape", "generation"),
    ("used_plan", "hash"),
    ("operation", "id"),
    ("step", "id"),
    ("operation_lease", "operation"),
    ("record", "slot"),
    ("ownership", "slot, ordinal"),
    ("group_hold", "node_group"),
    ("rollout", "node_group"),
    ("event", "seq"),
    ("pass", "number"),
];

/// How many rows a table has.
pub(super) type Count = (&'static str, u64);

/// The digest of everything that the journal says, and how many rows each table has. The caller holds a transaction.
pub(super) fn digest(conn: &Connection) -> rusqlite::Result<(String, Vec<Count>)> {
    let mut hash = Sha256::new();
    let mut counts = Vec::new();
    for (table, order) in TABLES {
        // A backup of an older program has fewer of them, and is vouched for as it is.
        if !conn.table_exists(None, table)? {
            continue;
        }
        let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut count = 0_u64;
        while let Some(row) = rows.next()? {
            count = count.saturating_add(1);
            for column in 0..columns {
                add(&mut hash, row.get_ref(column)?);
            }
        }
        // The count parts the tables, as its length parts each value from the next.
        hash.update([b'#']);
        hash.update(count.to_le_bytes());
        counts.push((table, count));
    }
    Ok((hex(&hash.finalize()), counts))
}

fn add(hash: &mut Sha256, value: ValueRef<'_>) {
    let mut bytes = |mark: u8, bytes: &[u8]| {
        hash.update([mark]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match value {
        ValueRef::Null => bytes(b'n', &[]),
        ValueRef::Integer(number) => bytes(b'i', &number.to_le_bytes()),
        ValueRef::Real(number) => bytes(b'r', &number.to_bits().to_le_bytes()),
        ValueRef::Text(text) => bytes(b't', text),
        ValueRef::Blob(blob) => bytes(b'b', blob),
    }
}
