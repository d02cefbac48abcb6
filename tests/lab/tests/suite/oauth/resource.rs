//! How the MCP endpoint takes tokens: audience, scope per tool, step-up.

use super::support::{lab, list, mcp, sign_in, sign_in_for, text};
use collie_lab::{Presented, TokenVerdict};
use serde_json::json;

#[tokio::test]
async fn a_token_is_for_one_resource() {
    let lab = lab(|_| ()).await;
    let tokens = sign_in(&lab).await;
    assert_eq!(list(&lab, &tokens).await.status, 200);
    let elsewhere = mcp(&lab.mcp_b_url(), text(&tokens, "access_token"), "tools/list", json!({})).send().await;
    assert_eq!(elsewhere.status, 401);
    let challenge = elsewhere.header("www-authenticate");
    assert!(challenge.contains(r#"error="invalid_token""#) && challenge.contains("/mcp-b\""), "{challenge}");
    let seen: Vec<_> = lab.seen().requests.iter().map(|request| (request.credential, request.token.clone())).collect();
    let verdicts: Vec<_> =
        seen.iter().map(|(credential, token)| (*credential, token.clone().expect("asked").verdict)).collect();
    assert_eq!(verdicts, [(Presented::Right, TokenVerdict::Right), (Presented::Wrong, TokenVerdict::OtherAudience)]);
    let unknown = mcp(&lab.mcp_url(), "labat_never", "tools/list", json!({})).send().await;
    assert_eq!(unknown.status, 401);
}

#[tokio::test]
async fn a_tool_of_a_higher_effect_needs_a_wider_scope() {
    let lab = lab(|_| ()).await;
    let narrow = sign_in(&lab).await;
    let arguments = json!({"name": "send_note", "arguments": {"to": "ann@example.invalid", "text": "hello"}});
    let call = |access: &str| mcp(&lab.mcp_url(), access, "tools/call", arguments.clone());
    let refused = call(text(&narrow, "access_token")).send().await;
    assert_eq!((refused.status, lab.counts().applied("send_note")), (403, 0));
    let challenge = refused.header("www-authenticate");
    assert!(challenge.contains(r#"error="insufficient_scope", scope="notes:write""#), "{challenge}");
    assert!(challenge.contains("resource_metadata="), "{challenge}");
    let wide = sign_in_for(&lab, "notes:read notes:write").await;
    assert_eq!(call(text(&wide, "access_token")).send().await.status, 200);
    lab.switch(|switches| switches.oauth.never_enough = true);
    assert_eq!(call(text(&wide, "access_token")).send().await.status, 403);
    assert_eq!(list(&lab, &wide).await.status, 200, "only calls are never enough");
    lab.switch(|switches| (switches.oauth.never_enough, switches.oauth.step_up) = (false, false));
    assert_eq!(call(text(&narrow, "access_token")).send().await.status, 200);
    assert_eq!(lab.counts().applied("send_note"), 2);
}
