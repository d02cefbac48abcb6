//! Tests of the ledger of calls; nothing here is product code.

use super::*;
use crate::app::App;
use crate::cli::Global;
use crate::state::profile::{Profile, Standing as Connection};
use contract::device::SessionClass;
use contract::ids::{DeploymentId, DeviceId, UserId, WorkspaceId};
use seal::UserSealingKey;

const BASE: &str = "http://127.0.0.1:1";

fn app(root: &std::path::Path) -> App {
    let app = App::new(Global {
        json: false,
        quiet: true,
        server: Some(BASE.to_owned()),
        workspace_id: None,
        state_dir: Some(root.to_owned()),
        no_color: true,
        timeout: 1,
        development_allow_loopback: false,
    })
    .expect("a context");
    let folder = app.state.service(BASE);
    let profile = Profile {
        base: BASE.to_owned(),
        deployment_id: DeploymentId::from_random([1; 16]),
        server_fingerprint: String::new(),
        user_id: UserId::from_random([2; 16]),
        workspace_id: WorkspaceId::from_random([3; 16]),
        device_id: DeviceId::from_random([4; 16]),
        device_name: "laptop".to_owned(),
        session_class: SessionClass::Rotating,
        standing: Connection::Connected,
        connected_at: 1,
        changed_at: 1,
    };
    folder.store_profile(&profile).expect("stores");
    let usk = UserSealingKey::new(1, Secret::new([7; 32])).expect("a key");
    let _ = folder.store_sealing_key(&usk).expect("stores");
    app
}

fn name(key: &str) -> CallName {
    CallName::new(ConnectionId::from_random([5; 16]), key).expect("a name")
}

fn content(arguments: &str) -> CallContent {
    CallContent { tool: "send".to_owned(), arguments: Digest::of(&[arguments.as_bytes()]) }
}

fn operation() -> Digest {
    Digest::of(&[b"operation"])
}

fn answer(text: &str) -> Recorded {
    Recorded { result: Some(Json::from_members([("said", text.into())])), redacted: true }
}

macro_rules! with_ledger {
    ($service:ident, $db:ident) => {
        let root = tempfile::tempdir().expect("a folder");
        let app = app(root.path());
        let $service = &app.service().expect("connected");
        let mut $db = $service.db().await.expect("a database");
    };
}

#[tokio::test]
async fn a_key_answers_its_call_and_no_other() {
    with_ledger!(service, db);
    let name = name("k");
    assert_eq!(standing(service, &mut db, &name, &content("a")).await, Ok(Standing::Free));
    let intent = begin(service, &mut db, &name, &content("a"), operation()).await.expect("begins");
    intent.complete(service, &mut db, &answer("done")).await.expect("ends");
    assert_eq!(standing(service, &mut db, &name, &content("a")).await, Ok(Standing::Recorded(answer("done"))));
    let other = standing(service, &mut db, &name, &content("b")).await.expect_err("refused");
    assert_eq!(other.code, Code::IdempotencyMismatch);
    let other = begin(service, &mut db, &name, &content("b"), operation()).await.err().expect("refused");
    assert_eq!(other.code, Code::IdempotencyMismatch);
    let again = begin(service, &mut db, &name, &content("a"), operation()).await.err().expect("refused");
    assert_eq!(again.code, Code::EffectRunning);
}

#[tokio::test]
async fn what_certainly_did_not_happen_may_be_called_again() {
    with_ledger!(service, db);
    let name = name("k");
    for _ in 0..2 {
        let intent = begin(service, &mut db, &name, &content("a"), operation()).await.expect("begins");
        intent.release(service, &mut db).await.expect("ends");
        assert_eq!(standing(service, &mut db, &name, &content("a")).await, Ok(Standing::Free));
    }
    let other = begin(service, &mut db, &name, &content("b"), operation()).await.err().expect("refused");
    assert_eq!(other.code, Code::IdempotencyMismatch, "a key names one call, even one that did not happen");
}

#[tokio::test]
async fn a_call_under_way_is_not_joined_and_a_lost_one_is_uncertain_for_good() {
    with_ledger!(service, db);
    let name = name("k");
    let intent = begin(service, &mut db, &name, &content("a"), operation()).await.expect("begins");
    let mut other = service.db().await.expect("a second process's database");
    assert_eq!(standing(service, &mut other, &name, &content("a")).await, Ok(Standing::Running));
    let refused = begin(service, &mut other, &name, &content("a"), operation()).await.err().expect("refused");
    assert_eq!(refused.code, Code::EffectRunning);
    // The process is gone: its lock with it, its intent not.
    drop(intent);
    for _ in 0..2 {
        assert_eq!(standing(service, &mut db, &name, &content("a")).await, Ok(Standing::Uncertain));
        let refused = begin(service, &mut db, &name, &content("a"), operation()).await.err().expect("refused");
        assert_eq!(refused.code, Code::EffectUncertain);
        assert!(refused.hint.expect("a hint").contains("--settle-uncertain"));
    }
    assert_eq!(db.list_open_calls(&name.connection).await.expect("lists").len(), 1);
}

#[tokio::test]
async fn a_person_settles_what_is_uncertain_and_nothing_else() {
    with_ledger!(service, db);
    for (key, verdict, after) in [
        ("yes", Verdict::Happened, Standing::Recorded(Recorded { result: None, redacted: false })),
        ("no", Verdict::NotHappened, Standing::Free),
    ] {
        let name = name(key);
        let missing = settle(service, &mut db, &name, "send", verdict).await.expect_err("refused");
        assert_eq!(missing.code, Code::NotFound);
        let intent = begin(service, &mut db, &name, &content("a"), operation()).await.expect("begins");
        let running = settle(service, &mut db, &name, "send", verdict).await.expect_err("refused");
        assert_eq!(running.code, Code::EffectRunning);
        intent.doubt(service, &mut db).await.expect("ends");
        let other = settle(service, &mut db, &name, "read", verdict).await.expect_err("refused");
        assert_eq!(other.code, Code::IdempotencyMismatch);
        settle(service, &mut db, &name, "send", verdict).await.expect("settles");
        assert_eq!(standing(service, &mut db, &name, &content("a")).await, Ok(after));
        let again = settle(service, &mut db, &name, "send", verdict).await.expect_err("refused");
        assert_eq!(again.code, Code::IllegalTransition);
    }
}

#[tokio::test]
async fn of_many_processes_one_calls() {
    with_ledger!(service, db);
    let name = name("k");
    let mut won = 0;
    for _ in 0..2 {
        let mut databases = Vec::new();
        for _ in 0..8 {
            databases.push(service.db().await.expect("a database"));
        }
        let mut intents = Vec::new();
        for mut own in databases {
            if let Ok(intent) = begin(service, &mut own, &name, &content("a"), operation()).await {
                intents.push(intent);
            }
        }
        won += intents.len();
        for intent in intents {
            intent.complete(service, &mut db, &answer("once")).await.expect("ends");
        }
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn a_recorded_answer_is_sealed_and_opens_under_its_own_key_only() {
    with_ledger!(service, db);
    let (one, two) = (name("one"), name("two"));
    let intent = begin(service, &mut db, &one, &content("a"), operation()).await.expect("begins");
    intent.complete(service, &mut db, &answer("a private word")).await.expect("ends");
    db.checkpoint().await.expect("checkpoints");
    let file = std::fs::read(service.folder.database()).expect("reads");
    assert!(!file.windows(14).any(|window| window == b"a private word"), "answers are not readable on disk");
    let intent = begin(service, &mut db, &two, &content("a"), operation()).await.expect("begins");
    intent.complete(service, &mut db, &answer("other")).await.expect("ends");
    sqlx::query("UPDATE invocation SET result_sealed = (SELECT result_sealed FROM invocation WHERE idempotency_key = 'one') WHERE idempotency_key = 'two'")
        .execute(&mut db.connection)
        .await
        .expect("moves it");
    let error = standing(service, &mut db, &two, &content("a")).await.expect_err("refused");
    assert_eq!(error.code, Code::WrongKey);
    let large = Recorded { result: Some(Json::from("x".repeat(limits::BLOB_BYTES_MAX))), redacted: false };
    let three = name("three");
    let intent = begin(service, &mut db, &three, &content("a"), operation()).await.expect("begins");
    intent.complete(service, &mut db, &large).await.expect("ends");
    let kept = standing(service, &mut db, &three, &content("a")).await;
    assert_eq!(
        kept,
        Ok(Standing::Recorded(Recorded { result: None, redacted: false })),
        "too large to keep, and still used"
    );
}

#[test]
fn a_key_has_the_characters_of_an_id() {
    for bad in ["", "a b", "a/b", "é", &"x".repeat(201)] {
        assert!(CallName::new(ConnectionId::from_random([5; 16]), bad).is_err(), "{bad}");
    }
}
