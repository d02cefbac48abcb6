//! Relocation attacks by a writer of the database (A3 to A10, A14, A15, B1): each changes rows past the store, and nothing opens where it did not belong.

use super::{
    on_both_engines, raw,
    world::{
        KEK, NOW, World, client_secret, connection, entry, grant, key_file, make, make_store, oauth, our_ring, ring,
        start, viewer, workspace,
    },
};
use crate::{PinError, VaultError};
use contract::blob::SecretKind;
use kms::{KekRing, ListedKek, Standing};
use store::{StoreConfig, VaultCredential};

/// Copies the blobs of one secret over those of another, commitment and generation included.
async fn copy(config: &StoreConfig, from: (u8, &str), to: (u8, &str)) {
    let source = |column: &str| {
        format!(
            "(SELECT v.{column} FROM vault_credential v WHERE v.connection_id = '{}' AND v.secret_kind = '{}')",
            connection(from.0),
            from.1
        )
    };
    let sets: Vec<_> = ["dek", "payload", "commitment", "tmk_gen", "version"]
        .iter()
        .map(|column| format!("{column} = {}", source(column)))
        .collect();
    let sql = format!(
        "UPDATE vault_credential SET {} WHERE connection_id = '{}' AND secret_kind = '{}'",
        sets.join(", "),
        connection(to.0),
        to.1
    );
    raw(config, &sql).await;
}

async fn stored(world: &World, n: u8, owner: u8) -> VaultCredential {
    world.load(n, owner, SecretKind::OAuth).await.1.expect("is there")
}

on_both_engines! {
    async fn a3_a4_secrets_do_not_move_between_connections_or_tenants(fixture: Fixture) {
        let world = make(&fixture).await;
        for person in [1, 2] {
            world.make_person(person).await;
        }
        world.share(1, 1).await;
        world.share(3, 1).await;
        world.share(2, 2).await;
        for (n, owner) in [(1, 1), (3, 1), (2, 2)] {
            assert!(world.opens(n, owner).await, "the control {n}");
        }
        copy(&fixture.main, (3, "oauth"), (1, "oauth")).await;
        assert!(!world.opens(1, 1).await, "of the same tenant");
        copy(&fixture.main, (1, "oauth"), (2, "oauth")).await;
        assert!(!world.opens(2, 2).await, "of another tenant");
        assert!(world.opens(3, 1).await, "the source is untouched");

        // With the tenant's key copied along, in the key store: the key itself is bound to its tenant.
        raw(&fixture.keys, &format!(
            "UPDATE vault_tmk SET wk = (SELECT k.wk FROM vault_tmk k WHERE k.workspace_id = '{0}'),
             tmk = (SELECT k.tmk FROM vault_tmk k WHERE k.workspace_id = '{0}') WHERE workspace_id = '{1}'", workspace(1), workspace(2)
        )).await;
        copy(&fixture.main, (3, "oauth"), (2, "oauth")).await;
        let (pin, stored) = world.load(2, 2, SecretKind::OAuth).await;
        let refused = world.vault.open_for_manifest(&pin.expect("pins"), &stored.expect("is there"), NOW).await.err();
        assert!(matches!(refused, Some(VaultError::KekRefused(_))), "{refused:?}");
    }

    async fn a5_a14_secrets_do_not_move_between_kinds_columns_or_tables(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        copy(&fixture.main, (1, "oauth"), (1, "client_secret")).await;
        let (pin, other) = world.load(1, 1, SecretKind::ClientSecret).await;
        let opened = world.vault.open_for_client_auth(&pin.expect("pins"), &other.expect("is there"), NOW).await;
        assert_eq!(opened.err(), Some(VaultError::Open));

        let good = stored(&world, 1, 1).await;
        raw(&fixture.main, "UPDATE vault_credential SET dek = payload, payload = dek WHERE secret_kind = 'oauth'").await;
        assert!(!world.opens(1, 1).await, "columns swapped");
        let (pin, _) = world.load(1, 1, SecretKind::OAuth).await;
        let pin = pin.expect("pins");
        assert!(world.vault.open_for_manifest(&pin, &good, NOW).await.is_ok(), "the blobs in their own columns");
        for wrong in [
            VaultCredential { payload: good.dek.clone(), ..good.clone() },
            VaultCredential { dek: good.payload.clone(), ..good.clone() },
        ] {
            assert_eq!(world.vault.open_for_manifest(&pin, &wrong, NOW).await.err(), Some(VaultError::Open));
        }
    }

    async fn a6_no_bound_field_of_a_row_can_be_edited(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let edits = [
            ("connection_oauth", "issuer", "'https://evil.example.test'"),
            ("connection_oauth", "client_id", "'client-2'"),
            ("connection_oauth", "scopes", "'[\"admin\"]'"),
            ("connection_oauth", "scopes", "'[]'"),
            ("connection_oauth", "subject", "'eve'"),
            ("connection_oauth", "subject", "NULL"),
            ("connection", "endpoint", "'https://evil.example.test/mcp'"),
            ("connection", "raw_digest", "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'"),
            ("connection", "review_digest", "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'"),
            ("connection", "profile", "'device_direct'"),
            ("vault_credential", "version", "version + 1"),
            ("vault_credential", "tmk_gen", "2"),
            ("vault_credential", "commitment", "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'"),
        ];
        for (table, column, value) in edits {
            raw(&fixture.main, &format!("CREATE TABLE before AS SELECT * FROM {table}")).await;
            raw(&fixture.main, &format!("UPDATE {table} SET {column} = {value}")).await;
            assert!(!world.opens(1, 1).await, "{table}.{column} = {value}");
            raw(&fixture.main, &format!("UPDATE {table} SET {column} = (SELECT b.{column} FROM before b LIMIT 1); DROP TABLE before")).await;
        }
        raw(&fixture.main, "UPDATE vault_credential SET version = 1, tmk_gen = 1").await;
        // Each kind has its own commitment again.
        let sealed = world.seal_new(1, 1, &[(1, grant("1")), (1, client_secret())]).await;
        world.review(1, 1, &sealed, Some(&oauth())).await;
        assert!(world.opens(1, 1).await, "the control: an honest row opens");
        raw(&fixture.main, "UPDATE connection_oauth SET scopes = '[\"notes:write\",\"notes:read\",\"notes:read\"]'").await;
        assert!(world.opens(1, 1).await, "order and repetition of scopes are no difference");
    }

    async fn a6_a_review_cannot_be_exchanged(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        world.share(2, 1).await;
        // The whole review of another connection, which is signed and whole, under its own digest.
        raw(&fixture.main, &format!(
            "UPDATE connection SET review = (SELECT c.review FROM connection c WHERE c.id = '{1}'),
             review_digest = (SELECT c.review_digest FROM connection c WHERE c.id = '{1}') WHERE id = '{0}'", connection(1), connection(2)
        )).await;
        assert_eq!(world.load(1, 1, SecretKind::OAuth).await.0.err(), Some(PinError::Mismatch { field: "id" }));
    }

    async fn a8_a10_old_wraps_and_payloads_do_not_mix(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let old = stored(&world, 1, 1).await;
        let sealed = world.seal_new(1, 1, &[(1, grant("new")), (1, client_secret())]).await;
        world.review(1, 1, &sealed, Some(&oauth())).await;
        let new = stored(&world, 1, 1).await;
        assert_eq!((old.version, new.version), (1, 2));
        let (pin, _) = world.load(1, 1, SecretKind::OAuth).await;
        let pin = pin.expect("pins");
        for (what, mixed) in [
            ("yesterday's row", old.clone()),
            ("yesterday's row under today's version", VaultCredential { version: 2, ..old.clone() }),
            ("today's data key, yesterday's payload", VaultCredential { dek: new.dek.clone(), ..old.clone() }),
            ("yesterday's data key, today's payload", VaultCredential { dek: old.dek.clone(), ..new.clone() }),
        ] {
            assert_eq!(world.vault.open_for_manifest(&pin, &mixed, NOW).await.err(), Some(VaultError::Open), "{what}");
        }
        assert!(world.vault.open_for_manifest(&pin, &new, NOW).await.is_ok());
    }

    async fn a15_another_generation_does_not_open(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        raw(&fixture.main, "UPDATE vault_credential SET tmk_gen = 2").await;
        let (pin, row) = world.load(1, 1, SecretKind::OAuth).await;
        let (pin, row) = (pin.expect("pins"), row.expect("is there"));
        let open = async || world.vault.open_for_manifest(&pin, &row, NOW).await.err();
        assert_eq!(open().await, Some(VaultError::KeyGone { generation: 2 }));
        // The same wraps under another number.
        raw(&fixture.keys, "UPDATE vault_tmk SET generation = 2 WHERE workspace_id <> ''").await;
        world.vault.forget_tenant(&workspace(1));
        assert!(matches!(open().await, Some(VaultError::KekRefused(_))));
        raw(&fixture.keys, "UPDATE vault_tmk SET generation = 1").await;
        raw(&fixture.main, "UPDATE vault_credential SET tmk_gen = 1").await;
        assert!(world.opens(1, 1).await);
    }

    async fn b1_a_tenant_key_under_another_kek_is_refused(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        // An attacker who writes both databases and brings a key of his own.
        let theirs = store::KeyStore::open(fixture.other_keys.clone()).await.expect("opens");
        let other = make_store(fixture.other_main.clone()).await;
        let attacker = start(ring(key_file("attackers-key", [0x66; 32])), &theirs, &other).await;
        let _ = attacker.unlock(&workspace(1), NOW).await.expect("he makes a key for the tenant");
        let planted = theirs.find_active(workspace(1).as_str()).await.expect("reads").expect("is there");
        let standing = world.keys.find_active(workspace(1).as_str()).await.expect("reads").expect("is there");
        assert_eq!(world.keys.rewrap(&standing, &planted).await, Ok(true));
        let refused = world.vault.unlock(&workspace(1), NOW).await.err();
        assert!(matches!(refused, Some(VaultError::KekRefused(kms::KekError::NotListed { .. }))), "{refused:?}");

        // Must fail: an installation that lists his key seals under it.
        let careless = KekRing::new(vec![
            ListedKek { standing: Standing::Active, provider: Box::new(key_file("kek-2026", KEK)) },
            ListedKek { standing: Standing::DecryptOnly, provider: Box::new(key_file("attackers-key", [0x66; 32])) },
        ]);
        let careless = start(careless.expect("a ring"), &world.keys, &world.store).await;
        assert!(careless.unlock(&workspace(1), NOW).await.is_ok());
    }

    async fn a_database_thief_without_the_key_file_has_nothing(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        // Both databases, and a key file of his own under our name.
        let thief = start(ring(key_file("kek-2026", [0x66; 32])), &world.keys, &world.store).await;
        assert!(matches!(thief.state(), crate::VaultState::Sealed(crate::SealedReason::Kek(_))), "{:?}", thief.state());
        assert!(matches!(thief.unlock(&workspace(1), NOW).await, Err(VaultError::Sealed(_))));
        // The twin with the right file opens.
        let twin = start(our_ring(), &world.keys, &world.store).await;
        assert!(twin.unlock(&workspace(1), NOW).await.is_ok());
    }

    async fn a_restored_dump_does_not_open_after_the_shred(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        raw(&fixture.main, "CREATE TABLE dump_credential AS SELECT * FROM vault_credential; CREATE TABLE dump_oauth AS SELECT * FROM connection_oauth;
            CREATE TABLE dump_connection AS SELECT * FROM connection").await;
        let revoked: Result<(), store::StoreError> = world.store.run("revoke", |mut tx| async move {
            tx.revoke_connection(&viewer(1), &connection(1), NOW).await?;
            tx.commit_with(entry(1), ()).await
        }).await;
        revoked.expect("revokes");
        world.vault.forget_tenant(&workspace(1));
        let (pin, row) = world.load(1, 1, SecretKind::OAuth).await;
        assert_eq!((pin.err(), row), (Some(PinError::Revoked), None));

        // Yesterday's dump is put back: deleted, not yet shredded.
        raw(&fixture.main, "INSERT INTO vault_credential SELECT * FROM dump_credential; INSERT INTO connection_oauth SELECT * FROM dump_oauth;
            UPDATE connection SET status = 'active', reviewed_digest = manifest_digest, reviewed_raw_digest = raw_digest").await;
        assert!(world.opens(1, 1).await, "the control: without the shred a dump brings it back");

        assert_eq!(world.keys.shred(workspace(1).as_str()).await, Ok(1));
        let (pin, row) = world.load(1, 1, SecretKind::OAuth).await;
        let opened = world.vault.open_for_manifest(&pin.expect("pins"), &row.expect("is there"), NOW).await;
        assert_eq!(opened.err(), Some(VaultError::KeyGone { generation: 1 }));
    }
}
