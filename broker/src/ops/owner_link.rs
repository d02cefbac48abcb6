//! The owner link: one-time, fifteen minutes, one at a time, stored as a MAC. Looking at it uses nothing up; using it opens one cookie session.

use super::{find_session::stored, issue_tokens::make_fresh};
use crate::{app::App, door::RandomError, http::error::ApiError};
use contract::{
    AuditEvent, Code,
    audit::{Actor, AuditLog},
    ids::UserId,
};
use sign::{
    Secret, TokenKey,
    token::{TokenKind, TokenMac, is_token},
};
use store::{Deployment, Store, StoreError};

/// Why there is no owner link.
#[derive(Debug, thiserror::Error)]
pub enum OwnerLinkError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// Makes the owner's link, whose token is for their terminal or a private file alone. An earlier one is void from now on.
pub(crate) async fn issue_owner_link(
    store: &Store,
    key: &TokenKey,
    deployment: &Deployment,
    now_ms: i64,
) -> Result<Secret<String>, OwnerLinkError> {
    let link = make_fresh(key, TokenKind::OwnerLink)?;
    let mac = &link.stored;
    let issued: Result<(), StoreError> = store
        .run("issue_owner_link", |mut tx| async move {
            let expires_at_ms = tx.insert_owner_link(mac, &deployment.owner_id, now_ms).await?;
            let event = AuditEvent::OwnerLinkIssued { user_id: deployment.owner_id.clone(), expires_at_ms };
            tx.commit_with(event.entry(AuditLog::Deployment(deployment.id.clone()), Actor::Operator, now_ms), ()).await
        })
        .await;
    issued?;
    Ok(link.text)
}

/// Whether the link of this path is good now.
pub(crate) async fn check_owner_link(app: &App, token: &str) -> Result<(), ApiError> {
    let mac = &path_mac(app, token)?;
    let now_ms = app.now_ms();
    let found: Option<UserId> =
        app.store().read("find_owner_link", |mut tx| async move { tx.find_owner_link(mac, now_ms).await }).await?;
    found.map(|_| ()).ok_or_else(over)
}

/// Uses the link up and opens a cookie session, whose cookie it returns.
pub(crate) async fn use_owner_link(app: &App, token: &str) -> Result<Secret<String>, ApiError> {
    let mac = &path_mac(app, token)?;
    let cookie = make_fresh(app.token_key(), TokenKind::BrowserSession)?;
    let session = &cookie.stored;
    let now_ms = app.now_ms();
    app.store()
        .run("use_owner_link", |mut tx| async move {
            let user_id = tx.use_owner_link(mac, now_ms).await?.ok_or_else(over)?;
            let expires_at_ms = tx.insert_browser_session(session, &user_id, now_ms).await?;
            let log = || AuditLog::Deployment(app.deployment_id().clone());
            let opened = AuditEvent::BrowserSessionOpened { user_id: user_id.clone(), expires_at_ms };
            tx.record(opened.entry(log(), Actor::Browser(user_id.clone()), now_ms)).await?;
            let used = AuditEvent::OwnerLinkUsed { user_id: user_id.clone() };
            Ok::<_, ApiError>(tx.commit_with(used.entry(log(), Actor::Browser(user_id), now_ms), ()).await?)
        })
        .await?;
    Ok(cookie.text)
}

/// Ends a cookie session. Ending one that is over changes nothing.
pub(crate) async fn close_browser_session(app: &App, session: &store::TokenMac) -> Result<(), ApiError> {
    let now_ms = app.now_ms();
    app.store()
        .run("close_browser_session", |mut tx| async move {
            let Some(user_id) = tx.end_browser_session(session).await? else { return Ok(tx.commit_unchanged(())?) };
            let event = AuditEvent::BrowserSessionClosed { user_id: user_id.clone() };
            let entry = event.entry(AuditLog::Deployment(app.deployment_id().clone()), Actor::Browser(user_id), now_ms);
            Ok::<_, ApiError>(tx.commit_with(entry, ()).await?)
        })
        .await
}

/// The stored form of a cookie that has the right shape.
pub(crate) fn cookie_mac(app: &App, cookie: &str) -> Option<TokenMac> {
    is_token(TokenKind::BrowserSession, cookie).then(|| app.token_key().mac(TokenKind::BrowserSession, cookie))
}

fn path_mac(app: &App, token: &str) -> Result<store::TokenMac, ApiError> {
    if is_token(TokenKind::OwnerLink, token) {
        Ok(stored(&app.token_key().mac(TokenKind::OwnerLink, token)))
    } else {
        Err(over())
    }
}

fn over() -> ApiError {
    ApiError::new(
        Code::NotFound,
        "this link is over: it works once and for fifteen minutes; `collie-broker admin owner-link` makes another",
    )
}
