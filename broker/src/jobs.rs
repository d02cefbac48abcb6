//! The service's housekeeping: a closed list of things that only forget what has expired. Decides nothing and says nothing about anybody.

use crate::{app::App, http::Limiters};
use contract::limits;
use std::time::Duration;
use store::{StoreError, Upkeep};
use tokio::sync::watch;

/// Runs every [`limits::HOUSEKEEPING_S`] until `ending` turns true.
pub(crate) async fn run(app: App, limiters: Limiters, mut ending: watch::Receiver<bool>) {
    let pause = Duration::from_secs(limits::HOUSEKEEPING_S);
    while tokio::time::timeout(pause, ending.wait_for(|ending| *ending)).await.is_err() {
        limiters.forget_idle();
        // A sealed service changes nothing in a database that may not be its own.
        if app.sealed().is_some() {
            continue;
        }
        if let Err(error) = sweep(&app).await {
            tracing::warn!(code = "housekeeping.sweep", cause = %error, "housekeeping will try again");
        }
    }
}

/// Deletes expired pairings, drafts, sessions, links, cookies and nonces, and wipes them from the write-ahead log.
pub(crate) async fn sweep(app: &App) -> Result<(), StoreError> {
    let now_ms = app.now_ms();
    let store = app.store();
    let swept: Result<u64, StoreError> = store
        .run("sweep", |mut tx| async move {
            let rows = tx.sweep_pairings(now_ms).await?
                + tx.sweep_drafts(now_ms).await?
                + tx.sweep_browser_sessions(now_ms).await?
                + tx.sweep_sessions(now_ms).await?
                + tx.sweep_request_nonces(now_ms).await?;
            tx.commit_upkeep(Upkeep::Session, rows)
        })
        .await;
    let rows = swept?;
    if rows > 0 {
        tracing::debug!(rows, "swept");
        store.checkpoint().await?;
    }
    Ok(())
}
