//! Tests of the key file: made once, private, whole, and another key for every other file. Nothing here is product code.

use super::*;
use contract::ids::WorkspaceId;

fn name() -> KekFullName {
    KekFullName::parse("kek-2026").expect("a name")
}

fn seal_random(n: u8) -> SealRandom {
    SealRandom::new([n; SealRandom::BYTES])
}

#[test]
fn a_key_file_is_made_once_and_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kek.key");
    make_key_file(&path, &Secret::new([7; 32])).expect("made");
    assert!(matches!(make_key_file(&path, &Secret::new([8; 32])), Err(KeyFileError::Io { .. })));
    let provider = KeyFileProvider::open(&path, name()).expect("opens");
    assert_eq!(provider.descriptor(), KeyFileProvider::new(Secret::new([7; 32]), name()).descriptor());
    assert_ne!(provider.descriptor(), KeyFileProvider::new(Secret::new([8; 32]), name()).descriptor());
    assert_eq!(provider.descriptor().assurance, Assurance::Software);
    assert_eq!(provider.descriptor().version.len(), 32);
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_read_or_that_is_no_key_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kek.key");
    make_key_file(&path, &Secret::new([7; 32])).expect("made");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
    assert_eq!(fs::metadata(&path).expect("metadata").permissions().mode() & 0o777, 0o600);
    for exposed in [0o640, 0o604, 0o620, 0o601] {
        mode(exposed);
        assert!(matches!(KeyFileProvider::open(&path, name()), Err(KeyFileError::Exposed { .. })), "{exposed:o}");
    }
    mode(0o400);
    assert!(KeyFileProvider::open(&path, name()).is_ok());
    mode(0o600);
    for damaged in [&b""[..], &[7; 31], &[7; 33], &[0; 32]] {
        fs::write(&path, damaged).expect("damaged");
        assert!(matches!(KeyFileProvider::open(&path, name()), Err(KeyFileError::Corrupt { .. })));
        assert_eq!(fs::read(&path).expect("still there"), damaged);
    }
    assert!(matches!(
        KeyFileProvider::open(folder.path(), name()),
        Err(KeyFileError::Exposed { .. } | KeyFileError::Corrupt { .. })
    ));
    assert!(matches!(KeyFileProvider::open(&folder.path().join("none"), name()), Err(KeyFileError::Io { .. })));
}

#[tokio::test]
async fn it_wraps_for_one_context() {
    let (one, other) =
        (KeyFileProvider::new(Secret::new([7; 32]), name()), KeyFileProvider::new(Secret::new([8; 32]), name()));
    one.health().await.expect("healthy");
    let (deployment, workspace) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]));
    let row = TenantKeyRow {
        deployment: &deployment,
        tenant: Tenant::Workspace(&workspace),
        generation: 1,
        kek: one.descriptor().name(),
    };
    let context = WrappingKeyContext(row);
    let key = WrappingKey::new(1, Secret::new([9; 32]));
    let wrapped = one.wrap(context, &key, seal_random(1)).await.expect("wraps");
    assert!(one.unwrap(context, &wrapped).await.is_ok());
    assert_eq!(other.unwrap(context, &wrapped).await.err(), Some(KekError::Open));
    let elsewhere = WrappingKeyContext(TenantKeyRow { generation: 2, ..row });
    assert_eq!(one.unwrap(elsewhere, &wrapped).await.err(), Some(KekError::Open));
}
