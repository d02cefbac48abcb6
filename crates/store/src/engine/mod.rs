//! The transaction engine: one text for two databases, explained commits, bounded retries. Knows no table but the audit log's.

mod row;
mod run;
mod statement;
mod tx;
mod writer;

pub(crate) use row::Row;
pub(crate) use run::{Begin, Bounds};
pub(crate) use statement::Statement;
pub use statement::Upkeep;
pub(crate) use statement::{Access, Value, bind, statements};
pub use tx::{Committed, ReadTx, Tx};
pub(crate) use writer::Writer;
