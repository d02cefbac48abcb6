//! Bad input on every route of the contract: a typed refusal, the same for "not yours" and "not there", and nothing written.

#[path = "bad_input/bodies.rs"]
mod bodies;
#[path = "bad_input/proofs.rs"]
mod proofs;
#[path = "bad_input/targets.rs"]
mod targets;

use collie_tests::harness::{Device, Request, World, raw::RawAnswer};
use contract::{
    Code,
    routes::{Access, Method, ROUTES, Route},
};
use std::collections::BTreeMap;

/// A world with one paired device and one connection, so that every `{id}` names something of the caller's own.
struct Scene {
    world: World,
    device: Device,
    connection: String,
    workspace: String,
    project: String,
}

impl Scene {
    async fn set(world: World) -> Self {
        let device = world.pair_device(&world.sign_in_owner().await, "Laptop").await;
        let raw = collie_tests::harness::sealing::raw_manifest("one");
        let body = collie_tests::harness::sealing::create_body("Notes", &raw, "");
        let id_of = |answer: contract::Json, outer: &str| {
            answer.find(outer).and_then(|inner| inner.find_str("id")).expect("an id").to_owned()
        };
        let connection = id_of(device.post_typed("/v1/connections", &body).await.expect_ok(), "connection");
        let team = contract::workspace::CreateWorkspace { name: "Team".to_owned() };
        let workspace = id_of(device.post_typed("/v1/workspaces", &team).await.expect_ok(), "workspace");
        let project = contract::workspace::CreateProject { name: "P".to_owned(), project_id: None };
        let project = id_of(device.post_typed("/v1/projects", &project).await.expect_ok(), "project");
        Self { world, device, connection, workspace, project }
    }

    /// The route's path with something of the caller's own in it.
    fn target(&self, route: &Route) -> String {
        let id = match route.path.split('/').nth(2) {
            Some("workspaces") => &self.workspace,
            Some("projects") => &self.project,
            _ => &self.connection,
        };
        route.path.replace("{id}", id).replace("{token}", "collie_ol_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    }

    /// A request to this route in which everything about the proof is right; its body is an object that no route takes.
    fn well_signed(&self, route: &Route, body: &[u8]) -> Request {
        let body = (route.method == Method::Post).then_some(body);
        match route.access {
            Access::Device | Access::Refresh => self.device.request(route.method.as_str(), &self.target(route), body),
            Access::Public | Access::OwnerLink | Access::Browser => {
                Request::new(route.method.as_str(), &self.target(route), body)
            }
        }
    }

    async fn send(&self, request: &Request) -> RawAnswer {
        let authority = self.world.authority();
        collie_tests::harness::raw::send(authority, &request.bytes(authority)).await
    }

    /// Rows of every table but the nonces, which a well-signed request spends before its body is judged.
    async fn written(&self) -> BTreeMap<String, i64> {
        let mut rows = self.world.database.rows().await;
        rows.remove("request_nonce");
        rows
    }
}

/// Routes that speak JSON to programs and ask for a proof.
fn device_routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.access == Access::Device)
}

/// Routes that read a JSON body.
fn json_routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.method == Method::Post && route.path.starts_with("/v1/"))
}

/// Checks that an answer is one typed refusal with one of these codes, and returns the code's word.
fn check_refusal(what: &str, answer: &RawAnswer, codes: &[Code]) -> String {
    let body = answer.json().unwrap_or_else(|| panic!("{what}: {} {}", answer.status, answer.text()));
    let word = body.find_str("code").unwrap_or_else(|| panic!("{what}: no code in {}", answer.text()));
    let code = Code::parse(word).unwrap_or_else(|| panic!("{what}: `{word}` is no code of ours"));
    assert!(codes.contains(&code), "{what}: {} {}", answer.status, answer.text());
    assert_eq!(answer.status, code.http_status(), "{what}");
    let error = body.find_str("error").unwrap_or_else(|| panic!("{what}: no sentence"));
    assert!(!error.is_empty() && !error.chars().any(char::is_control), "{what}: {error:?}");
    let members = body.as_object().expect("an object").keys().map(String::as_str).collect::<Vec<_>>();
    assert!(members == ["code", "error"] || members == ["code", "error", "field"], "{what}: {members:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
    assert!(answer.header("location").is_none() && answer.header("content-encoding").is_none(), "{what}");
    word.to_owned()
}
