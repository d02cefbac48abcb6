//! Operations of a device's outbox: their shape is checked and none is taken, so each stays queued at the client and nothing is lost. Stores nothing.

use crate::http::error::ApiError;
use contract::{
    Json,
    ids::is_id,
    limits,
    sync::{PushAnswer, PushOperations},
};

/// Checks the shape of a push and answers that nothing was settled.
///
/// An operation that only a later service would judge (its project, its class, its envelope) is not judged here: a refusal would take it out of the client's queue for ever.
pub(crate) fn sync_push(request: &PushOperations) -> Result<PushAnswer, ApiError> {
    if request.operations.len() > limits::PUSH_OPERATIONS_MAX {
        return Err(ApiError::field("operations", &format!("at most {} operations", limits::PUSH_OPERATIONS_MAX)));
    }
    for (index, operation) in request.operations.iter().enumerate() {
        check_operation(operation)
            .map_err(|field| ApiError::field(&format!("operations[{index}].{field}"), "missing or of another shape"))?;
    }
    Ok(PushAnswer::default())
}

/// The nine members of an operation; `Err` names the one to blame.
fn check_operation(operation: &Json) -> Result<(), &'static str> {
    let text = |key: &str, chars_max: usize| {
        operation.find_str(key).is_some_and(|text| text.chars().count() <= chars_max && !text.contains('\0'))
    };
    let whole = |key: &str| operation.find(key).and_then(Json::as_i64).is_some_and(|number| number >= 0);
    let operation_id = operation.find_str("operation_id").is_some_and(|id| {
        id.len() == limits::OPERATION_ID_CHARS && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    });
    [
        ("operation_id", operation_id),
        // Ids of sync objects hold the public client's own text, `~conflict~` siblings included.
        ("object_id", text("object_id", limits::OBJECT_ID_CHARS_MAX) && operation.find_str("object_id") != Some("")),
        ("object_type", text("object_type", limits::OBJECT_TYPE_CHARS_MAX)),
        ("project_id", operation.find_str("project_id").is_some_and(|id| id.is_empty() || is_id(id))),
        ("data_class", matches!(operation.find_str("data_class"), Some("cloud_indexed" | "sealed"))),
        ("content", operation.find("content").is_some()),
        ("base_version", whole("base_version")),
        ("updated_at", whole("updated_at")),
        ("tombstone", operation.find("tombstone").and_then(Json::as_bool).is_some()),
    ]
    .into_iter()
    .find(|(_, good)| !good)
    .map_or(Ok(()), |(field, _)| Err(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> Json {
        Json::from_members([
            ("operation_id", "0123456789abcdef0123456789abcdef".into()),
            ("object_id", "memory:dev-1:7".into()),
            ("object_type", "memory".into()),
            ("project_id", "proj-1".into()),
            ("data_class", "cloud_indexed".into()),
            ("content", Json::object()),
            ("base_version", 0.into()),
            ("updated_at", 1_790_000_000.into()),
            ("tombstone", false.into()),
        ])
    }

    fn push(operations: Vec<Json>) -> Result<PushAnswer, ApiError> {
        sync_push(&PushOperations { operations })
    }

    #[test]
    fn nothing_is_settled() {
        assert_eq!(push(vec![operation(); 500]).expect("a push"), PushAnswer { accepted: vec![], conflicts: vec![] });
    }

    #[test]
    fn every_member_has_its_shape() {
        assert!(push(vec![operation(); 501]).is_err());
        for (field, value) in [
            ("operation_id", "0123".into()),
            ("operation_id", "0123456789ABCDEF0123456789abcdef".into()),
            ("object_id", "".into()),
            ("object_id", "a\0b".into()),
            ("object_type", "x".repeat(81).into()),
            ("project_id", Json::Null),
            ("project_id", "a/b".into()),
            ("data_class", "secret".into()),
            ("base_version", (-1).into()),
            ("updated_at", "1".into()),
            ("tombstone", 0.into()),
        ] {
            let Json::Object(mut members) = operation() else { panic!("an object") };
            members.insert(field.to_owned(), value);
            let error = push(vec![operation(), Json::Object(members.clone())]).expect_err(field);
            assert!(error.sentence().contains(&format!("operations[1].{field}")), "{}", error.sentence());
            members.remove(field);
            assert!(push(vec![Json::Object(members)]).is_err(), "{field} missing");
        }
        assert!(push(vec![Json::Null]).is_err());
    }
}
