//! Between columns and typed values: a column holds signed 64-bit integers, text or bytes only.

use std::{error::Error, fmt::Write as _, str::FromStr};

use reconciler_core::{checkpoint::Direction, id::Uuid, time::Timestamp};
use rusqlite::{Row, types::Type};

/// A 64-bit number as a column; every value has its own image, so nothing is clamped.
pub(crate) const fn num(raw: u64) -> i64 {
    raw.cast_signed()
}

/// A time as a column.
pub(crate) const fn time(at: Timestamp) -> i64 {
    num(at.as_millis())
}

/// Reads a 64-bit number.
pub(crate) fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// Reads a time that may not have come yet.
pub(crate) fn time_if_any(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    let raw = row.get::<_, Option<i64>>(column)?;
    Ok(raw.map(|raw| Timestamp::from_millis(raw.cast_unsigned())))
}

/// Says that a column holds what this version cannot read.
pub(crate) fn misread(
    kind: Type,
    error: impl Into<Box<dyn Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, kind, error.into())
}

/// Reads a text that has a type of its own.
pub(crate) fn parsed<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error: T::Err| misread(Type::Text, error))
}

/// Reads a text that has a type of its own, if there is one.
pub(crate) fn parsed_if_any<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
    text.parse().map(Some).map_err(|error: T::Err| misread(Type::Text, error))
}

/// Reads which way an operation or a step goes.
pub(crate) fn direction(row: &Row<'_>) -> rusqlite::Result<Direction> {
    let name = row.get_ref("direction")?.as_str()?;
    let unknown = || misread(Type::Text, format!("`{name}` is no direction"));
    Direction::from_name(name).ok_or_else(unknown)
}

/// Reads 16 bytes as a UUID.
pub(crate) fn uuid(row: &Row<'_>, column: &str) -> rusqlite::Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}

/// What is wrong, without what only the database's own words would add.
pub(crate) fn why(error: &rusqlite::Error) -> String {
    if let rusqlite::Error::FromSqlConversionFailure(_column, _kind, cause) = error {
        return cause.to_string();
    }
    error.to_string()
}

/// True for an error that lies in one row alone, so that the other rows can still be trusted (C17).
pub(crate) const fn is_of_row(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
