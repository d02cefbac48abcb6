//! Faults at the authorization servers, the secrets they echo, and what the record never holds.

use super::support::{
    REDIRECT, SECRET, add, asking, authorize, error, first, get, lab, list, mcp, posting, redeeming, refresh,
    refreshing, sign_in, text, token, with,
};
use crate::support::{Request, read_answer};
use collie_lab::{Command, Fault, FaultRule, Lab, Malformation, Presented, RedirectTarget, SecretEcho};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

fn arm(lab: &Lab, kind: Fault) {
    let rule = FaultRule::new(kind).on_method("oauth/token").on_tool("refresh_token").times(1);
    lab.fault(rule).expect("armed");
}

fn request(lab: &Lab, tokens: &Value) -> Request {
    posting(&first(lab, "/oauth/token"), &refreshing(lab, text(tokens, "refresh_token")))
}

fn granted(lab: &Lab) -> u64 {
    lab.seen().oauth.counts.granted("refresh_token")
}

#[tokio::test]
async fn an_answer_can_be_lost_before_and_after_the_change() {
    for (kind, changes) in [(Fault::DropBefore, 0), (Fault::DropAfter, 1), (Fault::DropMidway, 1)] {
        let lab = lab(|_| ()).await;
        let tokens = sign_in(&lab).await;
        arm(&lab, kind);
        let raw = request(&lab, &tokens).raw().await.unwrap_or_default();
        assert!(read_answer(&raw).is_none(), "no whole answer");
        assert_eq!(granted(&lab), changes);
        let again = refresh(&lab, &tokens).await;
        assert_eq!(again.status == 200, changes == 0, "a token that was used is used, whoever heard of it");
    }
}

#[tokio::test]
async fn an_answer_can_hang_before_and_after_the_change() {
    for (kind, changes) in [(Fault::HangBefore, 0), (Fault::HangAfter, 1)] {
        let lab = lab(|_| ()).await;
        let tokens = sign_in(&lab).await;
        arm(&lab, kind);
        let mut stream = request(&lab, &tokens).open().await;
        lab.wait_until(|seen| seen.hanging == 1).await;
        assert_eq!(granted(&lab), changes);
        lab.control(Command::Release).expect("followed");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("it ends well");
        assert_eq!((read_answer(&all).expect("whole").status, granted(&lab)), (200, 1));
    }
}

#[tokio::test]
async fn statuses_redirects_and_floods() {
    let lab = lab(|_| ()).await;
    let tokens = sign_in(&lab).await;
    arm(&lab, Fault::Status { code: 503, retry_after_s: Some(7) });
    let busy = refresh(&lab, &tokens).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, "7"));
    arm(&lab, Fault::Redirect { status: 307, to: RedirectTarget::Host });
    let away = refresh(&lab, &tokens).await;
    assert_eq!(away.status, 307);
    assert_eq!(granted(&lab), 0, "nothing happened");
    assert!(lab.seen().strays.is_empty());
    arm(&lab, Fault::Huge { bytes: 10 * 1024 * 1024 });
    let huge = refresh(&lab, &tokens).await;
    assert!(huge.body.len() > 10 * 1024 * 1024 && huge.json()["access_token"].is_string());
}

#[tokio::test]
async fn who_follows_a_redirect_with_secrets_is_seen() {
    let lab = lab(|_| ()).await;
    let tokens = sign_in(&lab).await;
    let other = lab.other_url().to_owned();
    posting(&format!("{other}/token"), &refreshing(&lab, text(&tokens, "refresh_token"))).raw().await.expect("taken");
    get_raw(&format!("{other}/x?code={}", authorize(&lab, &asking(&lab)).await["code"])).await;
    mcp(&other, text(&tokens, "access_token"), "tools/list", json!({})).raw().await.expect("taken");
    get_raw(&format!("{other}/nothing")).await;
    let strays: Vec<_> =
        lab.seen().strays.iter().map(|stray| (stray.carries_secret, stray.credential, stray.target.clone())).collect();
    let (absent, right) = (Presented::Absent, Presented::Right);
    let wanted =
        [(true, absent, "/token"), (true, absent, "(a secret)"), (false, right, "/"), (false, absent, "/nothing")];
    assert_eq!(strays, wanted.map(|(secret, credential, target)| (secret, credential, target.to_owned())));
}

async fn get_raw(url: &str) {
    Request::new("GET", url, String::new()).raw().await.expect("taken");
}

#[tokio::test]
async fn every_malformation_breaks_tokens_and_metadata() {
    let lab = lab(|_| ()).await;
    let place = first(&lab, "/.well-known/oauth-authorization-server");
    let plain = get(&place).await.body;
    for how in Malformation::ALL {
        let rule = FaultRule::new(Fault::Malformed { how }).on_method("oauth/metadata").on_tool("server").times(1);
        lab.fault(rule).expect("armed");
        let resource = get(&lab.mcp_url().replace("/mcp", "/.well-known/oauth-protected-resource")).await;
        assert_eq!(resource.json()["resource"], json!(lab.mcp_url()), "the other document is whole");
        let broken = get(&place).await;
        let same = broken.body == plain;
        assert_eq!(same, how == Malformation::WrongMediaType, "{how:?}");
        assert_eq!(broken.header("content-type") == "text/html", same, "{how:?}");
        let tokens = sign_in(&lab).await;
        let before = granted(&lab);
        arm(&lab, Fault::Malformed { how });
        let answer = refresh(&lab, &tokens).await;
        let good = serde_json::from_slice::<Value>(&answer.body)
            .is_ok_and(|value| value["access_token"].is_string() && value.get("error").is_none());
        let is_subtle = matches!(how, Malformation::WrongMediaType | Malformation::DuplicateKey);
        assert_eq!(good, is_subtle, "{how:?}: {}", String::from_utf8_lossy(&answer.body));
        assert_eq!(granted(&lab), before + 1, "the change happened");
    }
}

#[tokio::test]
async fn a_fault_of_the_mcp_endpoint_strikes_no_server() {
    let lab = lab(|_| ()).await;
    lab.fault(FaultRule::new(Fault::Status { code: 500, retry_after_s: None })).expect("armed");
    let tokens = sign_in(&lab).await;
    assert_eq!(list(&lab, &tokens).await.status, 500);
    lab.control(Command::ClearFaults).expect("followed");
    lab.fault(FaultRule::new(Fault::Status { code: 500, retry_after_s: None }).on_method("oauth/token"))
        .expect("armed");
    assert_eq!(list(&lab, &tokens).await.status, 200);
    assert_eq!(refresh(&lab, &tokens).await.status, 500);
}

#[tokio::test]
async fn secrets_come_back_in_every_form_and_use_nothing_up() {
    let lab = lab(|_| ()).await;
    add(
        &lab,
        json!({"client_id": "post", "auth": "client_secret_post", "client_secret": SECRET, "redirect_uris": [REDIRECT]}),
    );
    let code = authorize(&lab, &with(asking(&lab), "client_id", "post")).await["code"].clone();
    let redeem = with(with(redeeming(&lab, &code), "client_id", "post"), "client_secret", SECRET);
    for how in SecretEcho::ALL {
        lab.switch(|switches| switches.oauth.echo_secrets = Some(how));
        let answer = token(&lab, &redeem).await;
        assert!(answer.status >= 400, "{how:?}");
        let all = format!("{} {}", answer.text(), answer.header("x-lab-echo"));
        let plain: String =
            url::form_urlencoded::parse(format!("v={all}").as_bytes()).map(|(_, value)| value.into_owned()).collect();
        assert!(
            all.contains(&code) && (all.contains(SECRET) || plain.contains("s3cr3t") || all.contains("s3cr3t")),
            "{how:?}: {all}"
        );
    }
    lab.switch(|switches| switches.oauth.echo_secrets = None);
    assert_eq!(token(&lab, &redeem).await.status, 200, "no code was used up");
}

#[tokio::test]
async fn what_was_seen_holds_no_secret() {
    let lab = lab(|_| ()).await;
    add(
        &lab,
        json!({"client_id": "post", "auth": "client_secret_post", "client_secret": SECRET, "redirect_uris": [REDIRECT]}),
    );
    let code = authorize(&lab, &with(asking(&lab), "client_id", "post")).await["code"].clone();
    let redeem = with(with(redeeming(&lab, &code), "client_id", "post"), "client_secret", SECRET);
    let tokens = token(&lab, &redeem).await.json();
    list(&lab, &tokens).await;
    let wrong = with(refreshing(&lab, text(&tokens, "refresh_token")), "client_id", "post");
    assert_eq!(error(&token(&lab, &wrong).await), "invalid_client");
    let seen = format!("{:?} {}", lab.seen(), serde_json::to_string(&lab.seen()).expect("writable"));
    for secret in [&code, "labcode_", "labat_", "labrt_", SECRET, "s3cr3t", super::support::VERIFIER] {
        assert!(!seen.contains(secret), "{secret}");
    }
    assert!(seen.contains("g1.f1"));
}

#[tokio::test]
async fn switches_of_the_servers_change_one_by_one() {
    let lab = lab(|oauth| oauth.rotation = false).await;
    let command = |command: Value| {
        let bearer = format!("Bearer {}", lab.control_token());
        Request::new("POST", &lab.control_url(), command.to_string()).header("authorization", &bearer)
    };
    let set = command(json!({"set": {"oauth": {"expires_in": "nonsense", "lies": ["no_pkce_methods"]}}})).send().await;
    let oauth = &set.json()["switches"]["oauth"];
    assert_eq!((&oauth["rotation"], &oauth["expires_in"]), (&json!(false), &json!("nonsense")));
    for bad in [json!({"set": {"oauth": {"rotatoin": true}}}), json!({"set": {"oauth": 7}}), json!({"advance_s": -1})] {
        assert_eq!(command(bad.clone()).send().await.status, 400, "{bad}");
    }
    assert_eq!(command(json!({"advance_s": 5})).send().await.status, 200);
    let fault = json!({"fault": {"kind": "drop_after", "method": "oauth/token", "tool": "refresh_token", "times": 1}});
    assert_eq!(command(fault).send().await.status, 200);
    let client = json!({"add_client": {"client_id": "later", "auth": "client_secret_basic", "client_secret": SECRET, "redirect_uris": []}});
    let answer = command(client).send().await;
    assert!(answer.status == 200 && !answer.text().contains("s3cr3t"));
}
