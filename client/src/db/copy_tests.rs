//! The sealed copy: what is stored comes back, marks only rise, and what is forgotten is gone from the file.

use super::*;

fn row(id: &str, name: &str) -> ConnectionRow {
    let text = format!(
        r#"{{"id":"{id}","name":"{name}","scope":"personal","project_id":"","transport":"device_direct","endpoint":"https://a.example/",
        "manifest":[],"manifest_digest":"","reviewed_digest":"","status":"active","policy":{{"allowed_effects":[]}},"seal_format":"v2",
        "version":1,"credential_version":1,"review_seq":1,"raw_digest":"","reviewed_by":"","created_at":1}}"#
    );
    cjson::from_slice(text.as_bytes(), text.len()).expect("a row")
}

async fn temporary() -> (tempfile::TempDir, Db) {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(&folder.path().join("collie.db")).await.expect("opens");
    (folder, db)
}

#[tokio::test]
async fn what_is_stored_comes_back_and_what_is_forgotten_is_gone() {
    let (folder, mut db) = temporary().await;
    let (mine, other) = (WorkspaceId::parse("ws_1").expect("an id"), WorkspaceId::parse("ws_2").expect("an id"));
    for (workspace, id, name) in [(&mine, "conn_b", "beta"), (&mine, "conn_a", "alpha"), (&other, "conn_c", "gamma")] {
        db.store_connection(workspace, &row(id, name), 1).await.expect("stores");
    }
    let names: Vec<_> = db.list_connections(&mine).await.expect("lists").into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["alpha", "beta"]);
    let id = ConnectionId::parse("conn_a").expect("an id");
    let sealed =
        StoredCredential { format: SealFormat::V2, version: 3, sealed: Json::from("ciphertext-canary"), updated_at: 9 };
    db.store_credential(&id, &sealed, 1).await.expect("stores");
    assert_eq!(db.find_credential(&id).await.expect("finds"), Some(sealed));
    let manifest = Json::from_members([("tools", Vec::new().into())]);
    db.store_manifest(&id, &Digest::of(&[b"m"]), &manifest, 1).await.expect("stores");
    assert_eq!(db.find_manifest(&id).await.expect("finds"), Some(manifest));
    let check = LiveCheck { era: Era::Sessions, raw_digest: Digest::of(&[b"m"]), checked_ms: 5 };
    db.store_live_check(&id, &check).await.expect("stores");
    assert_eq!(db.find_live_check(&id).await.expect("finds"), Some(check));

    assert_eq!(db.forget_copy().await.expect("forgets"), 3);
    db.checkpoint().await.expect("empties the log");
    assert_eq!(db.find_credential(&id).await.expect("finds"), None);
    for entry in std::fs::read_dir(folder.path()).expect("lists") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("reads");
        assert!(!String::from_utf8_lossy(&bytes).contains("ciphertext-canary"));
    }
}

#[tokio::test]
async fn marks_only_rise_and_outlive_the_copy() {
    let (_folder, mut db) = temporary().await;
    let id = ConnectionId::parse("conn_a").expect("an id");
    let mark = |review_seq, credential_version, commit: &str| HighWater {
        review_seq,
        credential_version,
        credential_commit: commit.to_owned(),
    };
    for (mark, rises) in [
        (mark(1, 1, "a"), true),
        (mark(1, 1, "a"), true),
        (mark(1, 1, "b"), false),
        (mark(2, 2, "b"), true),
        (mark(2, 1, "a"), false),
        (mark(1, 3, "c"), false),
    ] {
        assert_eq!(db.raise_high_water(&id, &mark).await.expect("answers"), rises, "{mark:?}");
    }
    db.forget_copy().await.expect("forgets");
    assert_eq!(db.find_high_water(&id).await.expect("finds"), mark(2, 2, "b"));
}

#[tokio::test]
async fn a_secret_of_the_device_is_not_replaced_by_accident() {
    let (_folder, mut db) = temporary().await;
    assert!(db.insert_local_secret("k", b"one", 1).await.expect("inserts"));
    assert!(!db.insert_local_secret("k", b"two", 1).await.expect("refuses"));
    assert_eq!(db.find_local_secret("k").await.expect("finds").as_deref(), Some(&b"one"[..]));
    db.replace_local_secret("k", b"three", 1).await.expect("replaces");
    assert_eq!(db.find_local_secret("k").await.expect("finds").as_deref(), Some(&b"three"[..]));
}
