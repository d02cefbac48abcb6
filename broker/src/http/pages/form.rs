//! A posted form: strict, small, of our own origin, and carrying the token of the session it was made for.

use super::{Person, Refusal, check_same_origin};
use crate::{
    app::App,
    http::{body::RawBody, error::ApiError},
};
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _},
};
use contract::Code;
use http::{Request, header::CONTENT_TYPE};
use sign::Secret;
use std::collections::BTreeMap;

/// The fields of a form that a signed-in person posted.
pub(in crate::http) struct PostedForm {
    /// Who posted it.
    pub(super) person: Person,
    fields: BTreeMap<String, String>,
}

impl PostedForm {
    /// A field's text; empty when it is missing.
    pub(super) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl FromRequest<App> for PostedForm {
    type Rejection = Refusal;

    async fn from_request(request: Request<Body>, app: &App) -> Result<Self, Refusal> {
        let (mut parts, _) = request.into_parts();
        check_same_origin(&parts.headers, app)?;
        let person = Person::from_request_parts(&mut parts, app).await?;
        let form_type = parts
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
        if !form_type {
            return Err(ApiError::new(Code::MediaType, "a form was expected").into());
        }
        let body = parts.extensions.get::<RawBody>().map(|RawBody(bytes)| bytes.clone()).unwrap_or_default();
        let fields = parse(&body)?;
        let stated = Secret::new(fields.get("form_token").cloned().unwrap_or_default());
        if !stated.is_same(&Secret::new(person.form_token().to_owned())) {
            return Err(
                ApiError::new(Code::RoleForbidden, "this form is of another session; open the page again").into()
            );
        }
        Ok(Self { person, fields })
    }
}

/// Fields of a form; a second one of the same name is refused.
fn parse(body: &[u8]) -> Result<BTreeMap<String, String>, ApiError> {
    let mut fields = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        if fields.insert(name.into_owned(), value.into_owned()).is_some() {
            return Err(ApiError::new(Code::BodyInvalid, "the form has a field twice"));
        }
    }
    Ok(fields)
}
