//! Bodies that are no body of the route: cut, too large, too deep, ambiguous, of another type.

use super::{Scene, check_refusal, json_routes};
use collie_tests::{harness::raw, on_both_engines};
use contract::{
    Code, limits,
    routes::{Method, ROUTES},
};

fn deep(levels: usize) -> Vec<u8> {
    [b"{\"a\":".repeat(levels), b"1".to_vec(), b"}".repeat(levels)].concat()
}

on_both_engines! {
    async fn what_is_not_one_document_is_refused(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        let number = format!("{{\"a\":1{}}}", "0".repeat(limits::JSON_NUMBER_CHARS_MAX));
        let bodies: [(&str, Vec<u8>); 12] = [
            ("empty", b"".to_vec()),
            ("truncated", br#"{"name":"x"#.to_vec()),
            ("two documents", b"{}{}".to_vec()),
            ("duplicate key", br#"{"name":"a","name":"b"}"#.to_vec()),
            ("duplicate key after unescaping", br#"{"name":"a","n\u0061me":"b"}"#.to_vec()),
            ("not UTF-8", b"{\"name\":\"\xff\xfe\"}".to_vec()),
            ("half a surrogate pair", br#"{"name":"\ud800"}"#.to_vec()),
            ("too deep", deep(limits::JSON_DEPTH_MAX + 1)),
            ("far too deep", deep(2_500)),
            ("a number of 65 digits", number.into_bytes()),
            ("NaN", br#"{"a":NaN}"#.to_vec()),
            ("a byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        ];
        for route in json_routes() {
            for (name, body) in &bodies {
                let what = format!("{} {name}", route.path);
                // A refresh is judged by its token first, which is in the body.
                let answer = scene.send(&scene.well_signed(route, body)).await;
                check_refusal(&what, &answer, &[Code::BodyInvalid]);
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn what_is_not_the_routes_object_is_refused(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in json_routes() {
            for body in [&b"[]"[..], br#"["Team"]"#, b"null", b"7", br#"{"nothing":1}"#, br#"{"nothing":{"name":null}}"#] {
                let answer = scene.send(&scene.well_signed(route, body)).await;
                check_refusal(route.path, &answer, &[Code::FieldInvalid]);
            }
            let wrong_type = scene.well_signed(route, b"{}").with("Content-Type", Some("text/plain"));
            check_refusal(route.path, &scene.send(&wrong_type).await, &[Code::MediaType]);
            let packed = scene.well_signed(route, b"{}").with("Content-Encoding", Some("gzip"));
            check_refusal(route.path, &scene.send(&packed).await, &[Code::MediaType]);
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn what_is_too_large_is_not_read(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in ROUTES.iter().filter(|route| route.method == Method::Post) {
            // Announced, and never sent: the answer must not wait for it.
            let announced = scene.well_signed(route, b"{}");
            let text = String::from_utf8(announced.bytes(scene.world.authority())).expect("text");
            let text = text.replace("Content-Length: 2\r\n", &format!("Content-Length: {}\r\n", route.body_max + 1));
            let answer = raw::send(scene.world.authority(), text.as_bytes()).await;
            assert_eq!(answer.status, 413, "{}: {}", route.path, answer.text());
            // Sent in pieces without announcement.
            if route.path.starts_with("/v1/") && route.body_max <= limits::PUBLIC_BODY_BYTES_MAX {
                let head = text.split("Content-Length").next().expect("a head").to_owned();
                let piece = "x".repeat(route.body_max + 1);
                let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{piece}\r\n0\r\n\r\n", piece.len());
                let answer = raw::send(scene.world.authority(), chunked.as_bytes()).await;
                check_refusal(route.path, &answer, &[Code::BodyTooLarge]);
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn what_is_cut_off_is_not_done(world: World) {
        let scene = Scene::set(world).await;
        let before = scene.written().await;
        for route in json_routes() {
            let whole = scene.well_signed(route, br#"{"name":"Cut off","nothing":1}"#).bytes(scene.world.authority());
            let cut = &whole[..whole.len() - 5];
            let answer = raw::send_and_end(scene.world.authority(), cut).await;
            if answer.status != 0 {
                check_refusal(route.path, &answer, &[Code::BodyInvalid]);
            }
        }
        assert_eq!(scene.written().await, before, "nothing was written");
    }

    async fn a_get_has_no_body(world: World) {
        let scene = Scene::set(world).await;
        for route in ROUTES.iter().filter(|route| route.method == Method::Get && route.path.starts_with("/v1/")) {
            let mut request = scene.device.request("GET", &scene.target(route), None);
            request.body = Some(b"{}".to_vec());
            check_refusal(route.path, &scene.send(&request).await, &[Code::BodyInvalid, Code::SignatureInvalid]);
        }
    }
}
