//! Binding a device in the browser: type the code, look, decide. The code comes from the person's own typing, never from an address.

use super::{Page, Person, Refusal, form::PostedForm};
use crate::{
    app::App,
    console::{self, DecisionMade},
    ops::approve_pairing::{self, Approver, Decision},
};
use axum::extract::State;

/// GET /pair. Whatever stands in the query is not read.
pub(in crate::http) async fn ask(person: Person) -> Page {
    Page::ok(console::pair_ask(person.form_token()))
}

/// POST /pair
pub(in crate::http) async fn show(State(app): State<App>, form: PostedForm) -> Result<Page, Refusal> {
    let user_code = form.field("user_code");
    let pending = approve_pairing::find_pending(&app, &approver(&form), user_code).await?;
    Ok(Page::ok(console::pair_confirm(form.person.form_token(), user_code, &pending)))
}

/// POST /pair/approve
pub(in crate::http) async fn approve(State(app): State<App>, form: PostedForm) -> Result<Page, Refusal> {
    let device = approve_pairing::approve_pairing(&app, &approver(&form), decision(&form)).await?;
    Ok(Page::ok(console::pair_done(DecisionMade::Bound, &device)))
}

/// POST /pair/refuse
pub(in crate::http) async fn refuse(State(app): State<App>, form: PostedForm) -> Result<Page, Refusal> {
    let device = approve_pairing::refuse_pairing(&app, &approver(&form), decision(&form)).await?;
    Ok(Page::ok(console::pair_done(DecisionMade::Refused, &device)))
}

fn approver(form: &PostedForm) -> Approver {
    Approver::Browser { user_id: form.person.user_id.clone(), session: form.person.session }
}

fn decision(form: &PostedForm) -> Decision<'_> {
    Decision { user_code: form.field("user_code"), fingerprint: form.field("fingerprint") }
}
