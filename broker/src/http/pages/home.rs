//! The person's devices, and signing out.

use super::{Page, Person, Refusal, cookie, form::PostedForm};
use crate::{
    app::App,
    console,
    door::wire_seconds,
    ops::{list_devices::list_devices, owner_link},
};
use axum::extract::State;

/// GET /
pub(in crate::http) async fn show(State(app): State<App>, person: Person) -> Result<Page, Refusal> {
    let devices = list_devices(&app, &person.user_id).await?;
    Ok(Page::ok(console::devices(person.form_token(), &devices, wire_seconds(app.now_ms()))))
}

/// POST /sign-out
pub(in crate::http) async fn sign_out(State(app): State<App>, form: PostedForm) -> Result<Page, Refusal> {
    owner_link::close_browser_session(&app, &form.person.session).await?;
    Ok(Page::ok(console::signed_out()).with_cookie(cookie(&app, None)?))
}
