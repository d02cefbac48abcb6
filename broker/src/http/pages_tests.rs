//! Attacks on the pages: forged forms, foreign hosts, used links, scripts in names, codes in addresses.

use crate::testing::{Browser, World, form_token};
use contract::limits;

#[tokio::test]
async fn an_owner_link_is_looked_at_freely_and_used_once() {
    let world = World::start().await;
    let path = world.owner_path().await;
    for _ in 0..3 {
        let page = world.send("GET", &path, &[], b"").await;
        assert_eq!(page.status, 200);
        assert!(page.header("set-cookie").is_none(), "a preview signs nobody in");
    }
    let origin = world.service.origin();
    let opened = world.send("POST", &path, &[("origin", origin)], b"").await;
    let cookie = opened.header("set-cookie").expect("a cookie").to_owned();
    for part in ["collie=collie_bs_", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{part}");
    }
    assert_eq!(world.send("POST", &path, &[("origin", origin)], b"").await.status, 404, "once");
    assert_eq!(world.send("GET", &path, &[], b"").await.status, 404);
    let browser = Browser { cookie: cookie.split(';').next().expect("pair").to_owned() };
    assert_eq!(world.page(&browser, "/").await.status, 200);
    world.clock.advance_s(limits::BROWSER_SESSION_TTL_S);
    assert_eq!(world.page(&browser, "/").await.status, 401, "twelve hours");
}

#[tokio::test]
async fn an_owner_link_ends_with_its_time_and_with_the_next_one() {
    let world = World::start().await;
    let (first, second) = (world.owner_path().await, world.owner_path().await);
    assert_eq!(world.send("GET", &first, &[], b"").await.status, 404, "an earlier link is void");
    assert_eq!(world.send("GET", &second, &[], b"").await.status, 200);
    world.clock.advance_s(limits::OWNER_LINK_TTL_S);
    assert_eq!(world.send("POST", &second, &[("origin", world.service.origin())], b"").await.status, 404);
}

#[tokio::test]
async fn a_form_that_no_page_of_this_session_made_does_nothing() {
    let world = World::start().await;
    let (browser, other) = (world.sign_in().await, world.sign_in().await);
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let fingerprint = waiting.key.public_key().fingerprint();
    let token = form_token(&world.page(&browser, "/pair").await);
    let foreign_token = form_token(&world.page(&other, "/pair").await);
    let origin = world.service.origin().to_owned();
    let fields = |token: &str| {
        vec![
            ("user_code", waiting.user_code.clone()),
            ("fingerprint", fingerprint.clone()),
            ("form_token", token.to_owned()),
        ]
    };
    let post = async |token: &str, origin: &str| {
        let fields = fields(token);
        let fields: Vec<_> = fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
        world.post_form(&browser, "/pair/approve", &fields, origin).await.status
    };
    assert_eq!(post(&foreign_token, &origin).await, 403, "another session's token");
    assert_eq!(post("", &origin).await, 403);
    assert_eq!(post(&token, "https://evil.test").await, 403);
    assert_eq!(post(&token, "null").await, 403);
    let body = format!("user_code={}&fingerprint={fingerprint}&form_token={token}", waiting.user_code);
    let form = ("content-type", "application/x-www-form-urlencoded");
    let cookie = ("cookie", browser.cookie.as_str());
    assert_eq!(
        world.send("POST", "/pair/approve", &[cookie, form], body.as_bytes()).await.status,
        403,
        "no origin at all"
    );
    let cross = [cookie, form, ("origin", origin.as_str()), ("sec-fetch-site", "cross-site")];
    assert_eq!(world.send("POST", "/pair/approve", &cross, body.as_bytes()).await.status, 403);
    let twice = format!("{body}&user_code=0000-0000");
    assert_eq!(
        world
            .send("POST", "/pair/approve", &[cookie, form, ("origin", origin.as_str())], twice.as_bytes())
            .await
            .status,
        400
    );
    let no_session = [form, ("origin", origin.as_str())];
    assert_eq!(world.send("POST", "/pair/approve", &no_session, body.as_bytes()).await.status, 401);
    assert_eq!(world.poll(&waiting).await.status, 428, "nothing was bound by any of them");
    assert_eq!(post(&token, &origin).await, 200, "control: the same form from the page itself");
}

#[tokio::test]
async fn pages_are_shown_under_our_own_name_alone() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let rebound = [("host", "evil.test"), ("cookie", browser.cookie.as_str())];
    assert_eq!(world.send("GET", "/pair", &rebound, b"").await.status, 400);
    let path = world.owner_path().await;
    assert_eq!(world.send("GET", &path, &[("host", "evil.test")], b"").await.status, 400);
    assert_eq!(
        world.send("GET", "/healthz", &[("host", "evil.test")], b"").await.status,
        200,
        "probes have no session"
    );
}

#[tokio::test]
async fn a_code_in_the_address_is_not_read() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let plain = world.page(&browser, "/pair").await;
    let prefilled = world.page(&browser, &format!("/pair?user_code={}", waiting.user_code)).await;
    assert_eq!(prefilled.text(), plain.text());
    let reply = world.submit(&browser, &format!("/pair?user_code={}", waiting.user_code), &[]).await;
    assert_eq!(reply.status, 410, "only the form's own field counts");
}

#[tokio::test]
async fn a_hostile_device_name_stays_text() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let key = crate::testing::key(1).public_key();
    let challenge = sign::pkce::challenge(&contract::b64u::encode([1; 32]));
    let body = format!(
        "{{\"challenge\":\"{challenge}\",\"device_name\":\"\\\"><script>x</script>\\u202e\",\"public_key\":\"{}\"}}",
        key.b64u()
    );
    let started = world.post("/v1/devices/start", &body).await;
    let page = world.submit(&browser, "/pair", &[("user_code", &started.str("user_code"))]).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("&quot;&gt;&lt;script&gt;x&lt;/script&gt;\\u{202e}"));
    assert!(!page.text().contains("<script"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
}

#[tokio::test]
async fn signing_out_ends_the_session_and_not_the_devices() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    assert!(world.page(&browser, "/").await.text().contains(&device.device_id));
    let out = world.submit(&browser, "/sign-out", &[]).await;
    assert_eq!(out.status, 200);
    assert!(out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")));
    assert_eq!(world.page(&browser, "/").await.status, 401);
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.status, 200);
}
