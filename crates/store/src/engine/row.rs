//! One row of either engine, read column by column. An impossible value is an error that names its place, never a default.

use crate::error::StoreError;
use contract::Digest;
use sqlx::{ColumnIndex, Decode, Row as _, Type, postgres::PgRow, sqlite::SqliteRow};

/// A row with the table it came from. Its first column is the id that an error may name.
pub(crate) struct Row {
    pub(super) table: &'static str,
    pub(super) inner: Inner,
}

pub(super) enum Inner {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn text(&self, column: &'static str) -> Result<String, StoreError> {
        self.cell(column)
    }

    pub(crate) fn optional_text(&self, column: &'static str) -> Result<Option<String>, StoreError> {
        self.cell(column)
    }

    pub(crate) fn int(&self, column: &'static str) -> Result<i64, StoreError> {
        self.cell(column)
    }

    pub(crate) fn optional_int(&self, column: &'static str) -> Result<Option<i64>, StoreError> {
        self.cell(column)
    }

    pub(crate) fn count(&self, column: &'static str) -> Result<u64, StoreError> {
        u64::try_from(self.int(column)?).map_err(|_| self.inconsistent(column))
    }

    pub(crate) fn bytes32(&self, column: &'static str) -> Result<[u8; 32], StoreError> {
        let bytes: Vec<u8> = self.cell(column)?;
        bytes.try_into().map_err(|_| self.inconsistent(column))
    }

    pub(crate) fn bytes(&self, column: &'static str) -> Result<Vec<u8>, StoreError> {
        self.cell(column)
    }

    pub(crate) fn digest(&self, column: &'static str) -> Result<Digest, StoreError> {
        self.parsed(column, |text| Digest::parse(text).ok())
    }

    pub(crate) fn optional_digest(&self, column: &'static str) -> Result<Option<Digest>, StoreError> {
        self.optional_parsed(column, |text| Digest::parse(text).ok())
    }

    /// A text column that only some words may stand in.
    pub(crate) fn parsed<T>(&self, column: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        parse(&self.text(column)?).ok_or_else(|| self.inconsistent(column))
    }

    /// As [`Row::parsed`], where NULL is allowed.
    pub(crate) fn optional_parsed<T>(
        &self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        match self.optional_text(column)? {
            Some(text) => parse(&text).map(Some).ok_or_else(|| self.inconsistent(column)),
            None => Ok(None),
        }
    }

    /// A column that holds an id.
    pub(crate) fn id<T: std::str::FromStr>(&self, column: &'static str) -> Result<T, StoreError> {
        self.parsed(column, |text| text.parse().ok())
    }

    /// As [`Row::id`], where NULL is allowed.
    pub(crate) fn optional_id<T: std::str::FromStr>(&self, column: &'static str) -> Result<Option<T>, StoreError> {
        self.optional_parsed(column, |text| text.parse().ok())
    }

    /// The error that names this row and `column`.
    pub(crate) fn inconsistent(&self, column: &'static str) -> StoreError {
        let row = match &self.inner {
            Inner::Sqlite(row) => row.try_get::<String, _>(0).ok(),
            Inner::Postgres(row) => row.try_get::<String, _>(0).ok(),
        };
        StoreError::Inconsistent { table: self.table, column, row: row.unwrap_or_else(|| "?".to_owned()) }
    }

    fn cell<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: for<'r> Decode<'r, sqlx::Sqlite>
            + Type<sqlx::Sqlite>
            + for<'r> Decode<'r, sqlx::Postgres>
            + Type<sqlx::Postgres>,
        &'static str: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
    {
        let cell = match &self.inner {
            Inner::Sqlite(row) => row.try_get::<T, _>(column),
            Inner::Postgres(row) => row.try_get::<T, _>(column),
        };
        cell.map_err(|_| self.inconsistent(column))
    }
}
