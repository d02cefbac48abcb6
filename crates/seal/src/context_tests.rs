//! Tests of the rows, and the published relocation vectors: for every tag of every row a blob that must not open when that tag alone is changed. Nothing here is product code.

use super::*;
use crate::clv2::{self, SealRandom, TypedKey};
use contract::{
    Json,
    blob::{ClaimedBlob, ContextRow},
    cjson, digest,
};
use sign::Secret;
use std::collections::BTreeMap;

/// The published file; `COLLIE_WRITE_VECTORS=1 cargo test -p collie-seal` writes it again.
const PUBLISHED: &str = include_str!("../../../docs/vectors/relocation-v2.json");

struct Ids {
    deployment: DeploymentId,
    workspace: WorkspaceId,
    project: ProjectId,
    connection: ConnectionId,
    device: DeviceId,
    digests: [Digest; 3],
    scopes: Vec<String>,
}

fn ids(byte: u8) -> Ids {
    Ids {
        deployment: DeploymentId::from_random([byte; 16]),
        workspace: WorkspaceId::from_random([byte; 16]),
        project: ProjectId::from_random([byte; 16]),
        connection: ConnectionId::from_random([byte; 16]),
        device: DeviceId::from_random([byte; 16]),
        digests: [0, 1, 2].map(|at| Digest::of(&[&[byte, at]])),
        scopes: vec![format!("notes:read{byte}"), "notes:write".to_owned()],
    }
}

fn credential_row(ids: &Ids) -> CredentialRow<'_> {
    CredentialRow {
        deployment: &ids.deployment,
        workspace: &ids.workspace,
        project: Some(&ids.project),
        connection: &ids.connection,
        endpoint: "https://mcp.example.test/mcp",
        scopes: &ids.scopes,
        manifest_digest: &ids.digests[0],
        issuer: "https://as.example.test",
        client_id: "client-1",
        secret_kind: SecretKind::StaticBearer,
        prev_commit: Some(&ids.digests[1]),
        author_device: &ids.device,
        usk_gen: 1,
        review_digest: &ids.digests[2],
        subject: "https://as.example.test\0ada",
    }
}

fn local_row(ids: &Ids) -> DeviceLocalContext<'_> {
    DeviceLocalContext {
        deployment: &ids.deployment,
        workspace: &ids.workspace,
        connection: Some(&ids.connection),
        endpoint: "https://mcp.example.test/mcp",
        issuer: "https://as.example.test",
        client_id: "client-1",
        secret_kind: SecretKind::StaticBearer,
        row_id: "draft",
        author_device: &ids.device,
        usk_gen: 1,
    }
}

fn tenant_key_row(ids: &Ids) -> TenantKeyRow<'_> {
    TenantKeyRow {
        deployment: &ids.deployment,
        tenant: Tenant::Workspace(&ids.workspace),
        generation: 3,
        kek: KekName { provider: "file", kek_id: "kek-2026", version: "480c2617d4830df7c720466243edf106" },
    }
}

fn vault_key_row(ids: &Ids) -> VaultKeyContext<'_> {
    VaultKeyContext {
        deployment: &ids.deployment,
        tenant: Tenant::Workspace(&ids.workspace),
        connection: Some(&ids.connection),
        secret_kind: SecretKind::OAuth,
        row: VaultRow::VaultCredential,
    }
}

fn cloud_row(ids: &Ids) -> CloudCredentialContext<'_> {
    CloudCredentialContext {
        deployment: &ids.deployment,
        workspace: &ids.workspace,
        project: Some(&ids.project),
        connection: &ids.connection,
        endpoint: "https://mcp.example.test/mcp",
        scopes: &ids.scopes,
        manifest_digest: &ids.digests[0],
        issuer: "https://as.example.test",
        client_id: "client-1",
        secret_kind: SecretKind::OAuth,
        review_digest: &ids.digests[2],
        subject: "https://as.example.test\0ada",
    }
}

fn transient_row(ids: &Ids) -> OAuthTransientContext<'_> {
    OAuthTransientContext {
        deployment: &ids.deployment,
        workspace: &ids.workspace,
        connection: &ids.connection,
        endpoint: "https://mcp.example.test/mcp",
        issuer: "https://as.example.test",
        client_id: "client-1",
        secret_kind: SecretKind::Pkce,
        session_binding: &ids.digests[1],
    }
}

/// The tags of an encoded context, read back.
fn tags_of(ctx: &Ctx, row: &ContextRow) -> BTreeMap<Tag, Vec<u8>> {
    let start = contract::labels::CTX.len() + 1 + row.domain.len();
    let mut rest = &ctx.as_bytes()[start..];
    let mut tags = BTreeMap::new();
    while let Some((tag, tail)) = rest.split_first() {
        let (length, tail) = tail.split_first_chunk::<4>().expect("a length");
        let (value, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
        tags.insert(Tag::parse(*tag).expect("a tag"), value.to_vec());
        rest = tail;
    }
    tags
}

fn ctx_of(domain: &'static str, tags: &BTreeMap<Tag, Vec<u8>>) -> Ctx {
    tags.iter()
        .fold(CtxBuilder::new(domain), |builder, (tag, value)| builder.bytes(*tag, value))
        .build()
        .expect("a context")
}

/// Every row of the table with a context made by its type.
fn rows(ids: &Ids) -> Vec<(ContextRow, Ctx)> {
    let made = [
        (BlobType::SealedCredential, SealedCredentialContext(credential_row(ids)).ctx()),
        (BlobType::CredentialKey, CredentialKeyContext(credential_row(ids)).ctx()),
        (BlobType::DeviceLocal, local_row(ids).ctx()),
        (BlobType::WrappingKey, WrappingKeyContext(tenant_key_row(ids)).ctx()),
        (BlobType::TenantMasterKey, TenantMasterKeyContext(tenant_key_row(ids)).ctx()),
        (BlobType::VaultKey, vault_key_row(ids).ctx()),
        (BlobType::CloudCredential, cloud_row(ids).ctx()),
        (BlobType::OAuthTransient, transient_row(ids).ctx()),
    ];
    let row = |blob| *CONTEXT_ROWS.iter().find(|row| row.blob == blob).expect("a row");
    made.into_iter().map(|(blob, ctx)| (row(blob), ctx.expect("a context"))).collect()
}

#[test]
fn every_type_holds_exactly_the_tags_of_its_row() {
    let ids = ids(1);
    let rows = rows(&ids);
    assert_eq!(rows.len(), CONTEXT_ROWS.len());
    for (row, ctx) in rows {
        let tags: Vec<_> = tags_of(&ctx, &row).into_keys().collect();
        assert_eq!(tags, row.tags, "{:?}", row.blob);
    }
}

#[test]
fn a_required_tag_without_a_value_is_present_with_length_zero() {
    let ids = ids(1);
    let bare = CredentialRow {
        project: None,
        scopes: &[],
        issuer: "",
        client_id: "",
        prev_commit: None,
        subject: "",
        ..credential_row(&ids)
    };
    let ctx = SealedCredentialContext(bare).ctx().expect("a context");
    let row = CONTEXT_ROWS.iter().find(|row| row.blob == BlobType::SealedCredential).expect("a row");
    let tags = tags_of(&ctx, row);
    assert!(tags.keys().eq(row.tags));
    for tag in [Tag::Project, Tag::Issuer, Tag::ClientId, Tag::PrevCommit, Tag::Subject] {
        assert_eq!(tags[&tag], b"", "{tag:?}");
    }
    assert_eq!(tags[&Tag::Scopes], [0; 4], "an empty list is a count of zero");
    assert_eq!(tags[&Tag::UskGen], [0, 0, 0, 1]);
    assert_eq!(tags[&Tag::Profile], b"device_direct");
}

#[test]
fn rows_of_the_vault_name_their_place() {
    let ids = ids(1);
    let tags =
        |blob: BlobType, ctx: Ctx| tags_of(&ctx, CONTEXT_ROWS.iter().find(|row| row.blob == blob).expect("a row"));
    let place = |tags: &BTreeMap<Tag, Vec<u8>>| {
        [Tag::Table, Tag::Column, Tag::RowId].map(|tag| String::from_utf8(tags[&tag].clone()).expect("text"))
    };
    let wk = tags(BlobType::WrappingKey, WrappingKeyContext(tenant_key_row(&ids)).ctx().expect("a context"));
    assert_eq!(place(&wk), ["vault_tmk", "wk", "3"]);
    let tmk = tags(BlobType::TenantMasterKey, TenantMasterKeyContext(tenant_key_row(&ids)).ctx().expect("a context"));
    assert_eq!(place(&tmk), ["vault_tmk", "tmk", "3"]);
    let row_id = format!("{}/oauth", ids.connection);
    let dek = tags(BlobType::VaultKey, vault_key_row(&ids).ctx().expect("a context"));
    assert_eq!(place(&dek), ["vault_credential", "dek", &row_id]);
    let txn = VaultKeyContext { row: VaultRow::OAuthTxn { id: "t1" }, ..vault_key_row(&ids) };
    assert_eq!(place(&tags(BlobType::VaultKey, txn.ctx().expect("a context"))), ["oauth_txn", "dek", "t1"]);
    let canary = VaultKeyContext {
        tenant: Tenant::Deployment,
        row: VaultRow::BootCanary,
        connection: None,
        ..vault_key_row(&ids)
    };
    let canary = tags(BlobType::VaultKey, canary.ctx().expect("a context"));
    assert_eq!(place(&canary), ["boot_canary", "dek", "boot_canary"]);
    assert_eq!((&canary[&Tag::Workspace][..], &canary[&Tag::Connection][..]), (&b""[..], &b""[..]));
    let cloud = tags(BlobType::CloudCredential, cloud_row(&ids).ctx().expect("a context"));
    assert_eq!((&cloud[&Tag::Profile][..], &cloud[&Tag::RowId][..]), (&b"cloud_proxy"[..], row_id.as_bytes()));
}

#[test]
fn a6_every_field_of_a_row_reaches_the_context() {
    let (one, two) = (ids(1), ids(2));
    let row = credential_row(&one);
    let other = credential_row(&two);
    let changed = [
        CredentialRow { deployment: other.deployment, ..row },
        CredentialRow { workspace: other.workspace, ..row },
        CredentialRow { project: other.project, ..row },
        CredentialRow { connection: other.connection, ..row },
        CredentialRow { endpoint: "https://mcp.example.test/mcp/", ..row },
        CredentialRow { scopes: other.scopes, ..row },
        CredentialRow { manifest_digest: other.manifest_digest, ..row },
        CredentialRow { issuer: "https://as.example.test/", ..row },
        CredentialRow { client_id: "client-2", ..row },
        CredentialRow { secret_kind: SecretKind::StaticHeader, ..row },
        CredentialRow { prev_commit: None, ..row },
        CredentialRow { author_device: other.author_device, ..row },
        CredentialRow { usk_gen: 2, ..row },
        CredentialRow { review_digest: other.review_digest, ..row },
        CredentialRow { subject: "https://as.example.test\0bob", ..row },
    ];
    let encode = |row| SealedCredentialContext(row).ctx().expect("a context").as_bytes().to_vec();
    let mut seen = vec![encode(row)];
    for row in changed {
        assert!(!seen.contains(&encode(row)), "change {}", seen.len());
        seen.push(encode(row));
    }
    // All tags but the profile, which is a constant of the row.
    assert_eq!(seen.len(), CONTEXT_ROWS[0].tags.len());
}

#[test]
fn a7_control_characters_in_a_row_are_refused() {
    let ids = ids(1);
    let row = CredentialRow { endpoint: "https://mcp.example.test/\0", ..credential_row(&ids) };
    assert!(SealedCredentialContext(row).ctx().is_err());
    assert!(DeviceLocalContext { row_id: "a\nb", ..local_row(&ids) }.ctx().is_err());
}

const KEY: [u8; 32] = [0x42; 32];
const VERSION: u64 = 7;

/// What a changed tag becomes in the vectors: one bit off, one byte longer, and nothing at all.
fn changes(value: &[u8]) -> Vec<Vec<u8>> {
    let mut flipped = value.to_vec();
    if let Some(last) = flipped.last_mut() {
        *last ^= 1;
    }
    let mut changes = vec![flipped, [value, b"0"].concat(), Vec::new()];
    changes.retain(|change| change != value);
    changes
}

fn key_of(blob: BlobType) -> TypedKey {
    TypedKey::long_lived(u32::from(blob.number()), Secret::new(KEY))
}

fn generate() -> String {
    let ids = ids(1);
    let rows: Vec<_> = rows(&ids)
        .into_iter()
        .map(|(row, ctx)| {
            let plaintext = format!("plaintext of type {:02x}", row.blob.number());
            let mut random = [0x22; SealRandom::BYTES];
            random[..32].fill(row.blob.number());
            let key = key_of(row.blob);
            let blob = clv2::seal_bytes(&key, row.blob, VERSION, &ctx, plaintext.as_bytes(), SealRandom::new(random)).expect("seals");
            let tag_name = |tag: Tag| format!("{:02x}", tag.number());
            let tags = tags_of(&ctx, &row);
            let refuse: Vec<_> = tags
                .iter()
                .flat_map(|(tag, value)| changes(value).into_iter().map(|change| format!("      [\"{}\", \"{}\"]", tag_name(*tag), digest::hex(&change))))
                .collect();
            let tags: Vec<_> = tags.iter().map(|(tag, value)| format!("      \"{}\": \"{}\"", tag_name(*tag), digest::hex(value))).collect();
            format!(
                "  {{\n    \"type\": \"{:02x}\",\n    \"domain\": \"{}\",\n    \"key\": \"{}\",\n    \"key_id\": \"{}\",\n    \"key_gen\": {},\n    \"version\": {VERSION},\n    \"plaintext\": \"{plaintext}\",\n    \"blob\": \"{}\",\n    \"tags\": {{\n{}\n    }},\n    \"refuse\": [\n{}\n    ]\n  }}",
                row.blob.number(), row.domain, digest::hex(&KEY), digest::hex(key.key_id()), row.blob.number(), digest::hex(&blob), tags.join(",\n"), refuse.join(",\n"),
            )
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

#[test]
fn the_published_vectors_are_what_the_rows_make() {
    let generated = generate();
    if std::env::var_os("COLLIE_WRITE_VECTORS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vectors/relocation-v2.json"), &generated)
            .expect("writes");
    }
    assert!(generated == PUBLISHED, "write the vectors again, and read the difference as a change of format");
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(text.get(at * 2..at * 2 + 2).expect("two digits"), 16).expect("hex"))
        .collect()
}

/// Reads the file as any other implementation would, and knows nothing of how it was made.
#[test]
fn a6_a_published_blob_opens_as_its_row_and_with_no_tag_changed() {
    let document = cjson::parse(PUBLISHED.as_bytes(), PUBLISHED.len()).expect("JSON");
    let rows = document.as_array().expect("an array");
    assert_eq!(rows.len(), CONTEXT_ROWS.len());
    for row in rows {
        let text = |name: &str| row.find_str(name).expect("text");
        let number = |name: &str| row.find(name).and_then(Json::as_i64).expect("a number");
        let blob = BlobType::parse(u8::from_str_radix(text("type"), 16).expect("hex")).expect("a type");
        let domain = CONTEXT_ROWS.iter().find(|row| row.domain == text("domain")).expect("a domain").domain;
        let tag = |name: &str| Tag::parse(u8::from_str_radix(name, 16).expect("hex")).expect("a tag");
        let members = row.find("tags").and_then(Json::as_object).expect("tags");
        let tags: BTreeMap<_, _> =
            members.iter().map(|(name, value)| (tag(name), unhex(value.as_str().expect("hex")))).collect();

        let key = Secret::<[u8; 32]>::new(unhex(text("key")).try_into().expect("32 bytes"));
        let key_id = unhex(text("key_id")).try_into().expect("16 bytes");
        let key = TypedKey::new(key_id, u32::try_from(number("key_gen")).expect("u32"), key);
        let bytes = unhex(text("blob"));
        let claimed = ClaimedBlob::parse(&bytes).expect("a blob");
        let version = u64::try_from(number("version")).expect("u64");
        let open =
            |tags: &BTreeMap<Tag, Vec<u8>>| clv2::open_bytes(&key, blob, version, &ctx_of(domain, tags), &claimed);

        let plaintext = open(&tags).expect("opens as its row");
        assert!(plaintext.is_same(&Secret::new(text("plaintext").as_bytes().to_vec())));
        let refuse = row.find("refuse").and_then(Json::as_array).expect("refusals");
        let mut covered = std::collections::BTreeSet::new();
        for change in refuse {
            let pair = change.as_array().expect("a pair");
            let (tag, value) = (tag(pair[0].as_str().expect("a tag")), unhex(pair[1].as_str().expect("hex")));
            let mut changed = tags.clone();
            let before = changed.insert(tag, value.clone());
            assert_ne!(before, Some(value), "{blob:?} {tag:?}: a change changes");
            assert!(open(&changed).is_err(), "{blob:?} opened with another {tag:?}");
            covered.insert(tag);
        }
        assert!(covered.iter().eq(tags.keys()), "{blob:?}: every tag of the row is changed");
        for tag in tags.keys() {
            let mut without = tags.clone();
            without.remove(tag);
            assert!(open(&without).is_err(), "{blob:?} opened without {tag:?}");
        }
        for other in CONTEXT_ROWS.iter().filter(|row| row.domain != domain) {
            assert!(clv2::open_bytes(&key, blob, version, &ctx_of(other.domain, &tags), &claimed).is_err(), "domain");
        }
    }
}
