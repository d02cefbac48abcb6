//! What a revoked device forgets: its tokens, its key, the sealing key and the sealed copy. The ledger of calls stays, so that nothing is repeated blindly.

use super::ServiceDir;
use super::profile::{Profile, Standing};
use crate::db::Db;
use crate::error::CliError;

/// Deletes what a revoked device must not keep, and says what that was.
pub async fn forget_revoked(folder: &ServiceDir, profile: &Profile, now_s: u64) -> Result<String, CliError> {
    // The session goes last: until then an interrupted run is told again that it must forget.
    let had_key = folder.remove_sealing_key()?;
    let copies = forget_copy(folder).await?;
    folder.remove_pairing()?;
    folder.remove_device_key()?;
    folder.remove_sessions()?;
    folder.store_profile(&Profile { standing: Standing::Revoked, changed_at: now_s, ..profile.clone() })?;
    let key = if had_key { "the sealing key, " } else { "" };
    Ok(format!("{key}its device key, its session and {copies} sealed connection(s) were deleted here"))
}

/// Deletes the sealed copy; says how many connections it held.
pub async fn forget_copy(folder: &ServiceDir) -> Result<u64, CliError> {
    if !folder.database().exists() {
        return Ok(0);
    }
    let mut db = Db::open(&folder.database()).await?;
    let count = db.forget_copy().await?;
    db.checkpoint().await?;
    Ok(count)
}
