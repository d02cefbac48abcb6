//! Targets that name nothing, something of somebody else, or the same thing in a second spelling.

use super::{Scene, check_refusal, device_routes};
use collie_tests::{harness::Request, on_both_engines};
use contract::{
    Code,
    routes::{Method, ROUTES},
};

on_both_engines! {
    async fn not_yours_and_not_there_are_one_answer(world: World) {
        let scene = Scene::set(world).await;
        let person = scene.world.make_person(2).await;
        let stranger = scene.world.pair_device(&scene.world.sign_in_as(&person).await, "Elsewhere").await;
        let before = scene.written().await;
        let add = br#"{"role":"member","user_id":"usr_1"}"#;
        let attempt = br#"{"fence":1,"grant_epoch":1,"version":1}"#;
        let bodies: [(&str, &[u8]); 12] = [
            ("members", add),
            ("review", br#"{"allowed_effects":[],"digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}"#),
            ("credential", br#"{"sealed_credential":{}}"#),
            ("drift", br#"{"raw_digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU","review_digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}"#),
            ("revoke", b"{}"),
            ("lease", b"{}"),
            ("intent", attempt),
            ("uncertain", attempt),
            ("dead", attempt),
            ("withdraw", br#"{"fence":1,"version":1}"#),
            ("upload", br#"{"fence":1,"grant_epoch":1,"sealed_credential":{},"version":1}"#),
            ("reconsent", br#"{"grant_epoch":1,"sealed_credential":{}}"#),
        ];
        for route in device_routes().filter(|route| route.path.contains("{id}")) {
            let call = route.path.rsplit('/').next().unwrap_or_default();
            let body = bodies.iter().find(|(name, _)| *name == call).map(|(_, body)| *body);
            let body = body.filter(|_| route.method == Method::Post);
            let ask = |id: &str| stranger.request(route.method.as_str(), &route.path.replace("{id}", id), body);
            let own = scene.target(route);
            let theirs = scene.send(&stranger.request(route.method.as_str(), &own, body)).await;
            check_refusal(route.path, &theirs, &[Code::NotFound]);
            let absent = ["conn_00000000000000000000000000000000", "x", "usr_1", &"a".repeat(200)];
            let strange = ["a%20b", "%C3%A9", "a%3Cb", "'%20OR%201=1--", &"a".repeat(201), "%E2%80%AE"];
            for id in absent {
                let answer = scene.send(&ask(id)).await;
                assert_eq!((answer.status, answer.body), (theirs.status, theirs.body.clone()), "{} {id}", route.path);
            }
            for id in strange {
                check_refusal(route.path, &scene.send(&ask(id)).await, &[Code::NotFound]);
            }
        }
        for (target, body) in [
            ("/v1/devices/revoke", format!(r#"{{"device_id":"{}"}}"#, scene.device.device_id)),
            ("/v1/workspaces/select", format!(r#"{{"workspace_id":"{}"}}"#, scene.device.workspace_id)),
        ] {
            let theirs = scene.send(&stranger.request("POST", target, Some(body.as_bytes()))).await;
            check_refusal(target, &theirs, &[Code::NotFound]);
            let nothing = body.replace(scene.device.device_id.as_str(), "dev_0").replace(scene.device.workspace_id.as_str(), "ws_0");
            let absent = scene.send(&stranger.request("POST", target, Some(nothing.as_bytes()))).await;
            assert_eq!((absent.status, absent.body), (theirs.status, theirs.body), "{target}");
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn a_target_has_one_spelling(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in device_routes() {
            let plain = scene.target(route);
            let body = (route.method == Method::Post).then_some(&b"{}"[..]);
            for bent in [
                plain.replacen("/v1/", "//v1/", 1),
                plain.replacen("/v1/", "/v1//", 1),
                plain.replacen("/v1/", "/v1/./", 1),
                plain.replacen("/v1/", "/v1/x/../", 1),
                plain.replacen("/v1/", "/v1/%2e%2e/v1/", 1),
                plain.replacen("/v1/", "/v1%2f", 1),
                plain.replacen("/v1/", "/v1/%00", 1),
                format!("http://{}{plain}", scene.world.authority()),
                format!("{plain}?x=%zz"),
            ] {
                let answer = scene.send(&scene.device.request(route.method.as_str(), &bent, body)).await;
                check_refusal(&bent, &answer, &[Code::TargetInvalid]);
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn other_routes_and_methods_are_not_there(world: World) {
        let scene = Scene::set(world).await;
        for target in ["/v1", "/v1/", "/v2/devices", "/v1/Devices", "/v1/devices/", "/admin", "/.env", "/v1/connections/x/grant", "/v1/connections/x/invoke"] {
            let answer = scene.send(&scene.device.request("GET", target, None)).await;
            check_refusal(target, &answer, &[Code::NotFound, Code::TargetInvalid]);
        }
        for route in ROUTES {
            let target = scene.target(route);
            for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
                let answer = scene.send(&Request::new(method, &target, None)).await;
                check_refusal(route.path, &answer, &[Code::MethodNotAllowed]);
            }
        }
    }

    async fn what_would_split_the_two_readers_is_refused(world: World) {
        let scene = Scene::set(world).await;
        let (authority, before) = (scene.world.authority().to_owned(), scene.written().await);
        let whole = scene.device.request("POST", "/v1/workspaces", Some(br#"{"name":"Smuggled"}"#));
        let text = String::from_utf8(whole.bytes(&authority)).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let lengths = [
            format!("{head}\r\nContent-Length: 3\r\n\r\n{body}"),
            format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{body}"),
            format!("{}\r\n\r\n{body}", head.replace("Content-Length: ", "Content-Length: +")),
            format!("{}\r\n\r\n{body}", head.replace("Host: ", "Host : ")),
            format!("{head}\r\nX: a\nb: c\r\n\r\n{}", &body[..body.len() - 1]),
        ];
        for bytes in lengths {
            let answer = collie_tests::harness::raw::send_and_end(&authority, bytes.as_bytes()).await;
            assert!(answer.status == 0 || (400..500).contains(&answer.status), "{} {}", answer.status, answer.text());
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }
}
