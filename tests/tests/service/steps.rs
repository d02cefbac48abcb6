//! What the suites about connections do again and again: register, read a row back, look at what was written.

use collie_tests::harness::{Device, World, sealing};
use contract::{
    Json, cjson,
    connection::{ConnectionAnswer, ConnectionRow},
    ids::DeploymentId,
    manifest::RawManifest,
};
use std::collections::BTreeMap;

/// What must not change when something is refused. Nonces of well-signed requests are spent before their body is judged.
pub(crate) async fn written(world: &World) -> BTreeMap<String, i64> {
    let mut rows = world.database.rows().await;
    rows.remove("request_nonce");
    rows
}

/// The row of an answer.
pub(crate) fn row(answer: Json) -> ConnectionRow {
    let bytes = answer.canonical();
    cjson::from_slice::<ConnectionAnswer>(&bytes, bytes.len()).expect("a connection").connection
}

/// The installation.
pub(crate) async fn deployment(world: &World) -> DeploymentId {
    let found: Result<_, store::StoreError> =
        world.store().read("find_deployment", |mut tx| async move { tx.find_deployment().await }).await;
    found.expect("reads").expect("made at the first start").id
}

/// Registers a personal connection.
pub(crate) async fn create(device: &Device, raw: &RawManifest) -> ConnectionRow {
    row(device.post_typed("/v1/connections", &sealing::create_body("Notes", raw, "")).await.expect_ok())
}

/// The target of a call about a connection.
pub(crate) fn target(row: &ConnectionRow, call: &str) -> String {
    format!("/v1/connections/{}/{call}", row.id)
}
