//! Requests whose proof is missing, old, used, or about something else.

use super::{Scene, check_refusal, device_routes};
use collie_tests::{harness::Request, on_both_engines, public_client};
use contract::{
    Code,
    routes::{Access, ROUTES},
};

/// A body that no route takes, so that a request that gets through its gate still writes nothing.
const NOTHING: &[u8] = br#"{"nothing":1}"#;

on_both_engines! {
    // The control of everything below: with the right proof the gate opens, and what is refused then is the body alone.
    async fn the_right_proof_passes_the_gate(world: World) {
        let scene = Scene::set(world).await;
        for route in device_routes() {
            let answer = scene.send(&scene.well_signed(route, NOTHING)).await;
            if answer.status != 200 {
                // The scene's connection has no credential yet, so nothing of it can be refreshed.
                check_refusal(route.path, &answer, &[Code::FieldInvalid, Code::NotFound, Code::IllegalTransition]);
            }
        }
    }

    async fn without_proof_nothing_is_answered(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in ROUTES.iter().filter(|route| matches!(route.access, Access::Device | Access::Refresh)) {
            // The device of a refresh follows from its token, so its body is read first.
            let refresh = format!(r#"{{"refresh_token":"{}"}}"#, scene.device.refresh_token);
            let body = if route.access == Access::Refresh { refresh.as_bytes() } else { NOTHING };
            let good = scene.well_signed(route, body);
            let name = route.path;
            let bare = Request::new(&good.method, &good.target, good.body.as_deref());
            let bearer_codes = [Code::SessionRequired, Code::SignatureInvalid];
            check_refusal(name, &scene.send(&bare).await, &bearer_codes);
            for header in ["X-Collie-Device-Timestamp", "X-Collie-Device-Nonce", "X-Collie-Device-Signature"] {
                check_refusal(name, &scene.send(&good.clone().with(header, None)).await, &[Code::SignatureInvalid]);
                check_refusal(name, &scene.send(&good.clone().with(header, Some("!"))).await, &[Code::SignatureInvalid]);
            }
            if route.access == Access::Device {
                for bearer in [None, Some("Bearer "), Some("Basic eDp5"), Some("Bearer collie_at_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), Some("Bearer \u{e9}")] {
                    check_refusal(name, &scene.send(&good.clone().with("Authorization", bearer)).await, &[Code::SessionRequired]);
                }
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn a_proof_is_about_one_request(world: World) {
        let scene = Scene::set(world).await;
        let browser = scene.world.sign_in_owner().await;
        let other = scene.world.pair_device(&browser, "Desk").await;
        let before = scene.written().await;
        for route in device_routes() {
            let good = scene.well_signed(route, NOTHING);
            let name = route.path;
            let mut elsewhere = good.clone();
            elsewhere.target.push_str("?x=1");
            check_refusal(name, &scene.send(&elsewhere).await, &[Code::SignatureInvalid]);
            if good.body.is_some() {
                let mut altered = good.clone();
                altered.body = Some(br#"{"nothing":2}"#.to_vec());
                check_refusal(name, &scene.send(&altered).await, &[Code::SignatureInvalid]);
            }
            let other_device = other.request(&good.method, &good.target, good.body.as_deref());
            let header = |name: &str| other_device.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            let mut mixed = good.clone();
            for proof in ["X-Collie-Device-Timestamp", "X-Collie-Device-Nonce", "X-Collie-Device-Signature"] {
                mixed = mixed.with(proof, header(proof).as_deref());
            }
            check_refusal(name, &scene.send(&mixed).await, &[Code::SignatureInvalid]);
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn a_proof_is_used_once_and_now(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in device_routes() {
            let (name, target) = (route.path, scene.target(route));
            let good = scene.well_signed(route, NOTHING);
            let first = scene.send(&good).await;
            assert!(first.status < 500 && first.status != 401, "{name}: {}", first.text());
            check_refusal(name, &scene.send(&good).await, &[Code::SignatureReplayed]);
            let body = good.body.as_deref();
            for late in [-302, 302, -100_000_000, 100_000_000] {
                let skewed = scene.device.request_at(&good.method, &target, body, public_client::now() + late);
                let answer = scene.send(&skewed).await;
                check_refusal(name, &answer, &[Code::SignatureSkew]);
                assert!(answer.text().contains("clock differs by"), "it says by how much");
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn pages_want_their_person(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in ROUTES.iter().filter(|route| matches!(route.access, Access::Browser | Access::OwnerLink)) {
            let form = |request: Request| request.with("Content-Type", Some("application/x-www-form-urlencoded"));
            let good = form(scene.well_signed(route, b"user_code=ABCD-EFGH"));
            for request in [
                good.clone(),
                good.clone().with("Cookie", Some("collie=collie_bs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
                good.clone().with("Cookie", Some("collie=a; collie=b")),
                good.clone().with("Origin", Some("https://evil.example")),
                good.with("Origin", Some(scene.world.base_url())),
            ] {
                let answer = scene.send(&request).await;
                assert!((400..500).contains(&answer.status), "{} {}: {}", route.method.as_str(), route.path, answer.status);
                assert!(answer.header("set-cookie").is_none(), "{}", route.path);
                let policy = answer.header("content-security-policy").unwrap_or_default();
                assert!(policy.contains("default-src 'none'"), "{}: {policy}", route.path);
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }
}
