//! The owner link: looking at it asks, posting it signs the browser in.

use super::{Page, Refusal, check_host, check_same_origin, cookie};
use crate::{app::App, console, ops::owner_link};
use axum::extract::{Path, State};
use http::HeaderMap;

/// GET /owner/{token}. A preview or a prefetch must not use the link up.
pub(in crate::http) async fn ask(
    State(app): State<App>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Page, Refusal> {
    check_host(&headers, &app)?;
    owner_link::check_owner_link(&app, &token).await?;
    Ok(Page::ok(console::owner_ask()))
}

/// POST /owner/{token}
pub(in crate::http) async fn open(
    State(app): State<App>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Page, Refusal> {
    check_same_origin(&headers, &app)?;
    let value = owner_link::use_owner_link(&app, &token).await?;
    Ok(Page::ok(console::signed_in()).with_cookie(cookie(&app, Some(&value))?))
}
