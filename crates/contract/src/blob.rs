//! Numbers and layout of sealed and signed objects: CLV2 types, suites, context tags, domains, secret kinds, signed types. Reads structure only; nothing here can open anything.

use crate::{connection::words, limits};
use serde::{Deserialize, Serialize};

macro_rules! numbers {
    ($(#[doc = $doc:literal])+ $name:ident: $kind:ty { $($(#[doc = $vdoc:literal])+ $variant:ident = $value:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($kind)]
        pub enum $name {
            $($(#[doc = $vdoc])+ $variant = $value,)+
        }

        impl $name {
            /// Every value, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The number on the wire.
            #[must_use]
            pub const fn number(self) -> $kind {
                self as $kind
            }

            /// Reads the number; an unknown one is none of them.
            #[must_use]
            pub fn parse(number: $kind) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.number() == number)
            }
        }
    };
}

numbers! {
    /// What a CLV2 blob holds (2.a.2).
    BlobType: u8 {
        /// A tenant master key, under its wrapping key.
        TenantMasterKey = 0x01,
        /// The data key of one write of a vault secret, under a tenant master key.
        VaultKey = 0x02,
        /// A secret of a `cloud_proxy` connection.
        CloudCredential = 0x03,
        /// A secret of a sign-in in progress, or a credential that waits for its review.
        OAuthTransient = 0x04,
        /// A wrapping key, under a key file.
        WrappingKey = 0x05,
        /// A credential, sealed for the devices of one person.
        SealedCredential = 0x10,
        /// The data key of one sealed credential, under the person's sealing key.
        CredentialKey = 0x11,
        /// A secret that never leaves the device.
        DeviceLocal = 0x15,
    }
}

/// Type numbers that are spoken for by formats nobody makes yet, with their meaning; no other format may take them.
pub const RESERVED_TYPES: &[(u8, &str)] = &[
    (0x12, "never used"),
    (0x13, "sealing key under its successor"),
    (0x14, "sealed sync object"),
    (0x20, "project group key under its successor"),
    (0x21, "data key under a project group key"),
];

numbers! {
    /// Algorithms of a CLV2 blob (2.a.2). `02` is kept; every other value is refused.
    Suite: u8 {
        /// `XCHACHA20POLY1305_HKDFSHA512_COMMIT`
        XChaCha20Poly1305HkdfSha512Commit = 0x01,
    }
}

numbers! {
    /// One field of a canonical context (2.a.3).
    Tag: u8 {
        /// Deployment id.
        Deployment = 0x01,
        /// Workspace id, the tenant.
        Workspace = 0x02,
        /// Project id, empty for a personal object.
        Project = 0x03,
        /// Connection id.
        Connection = 0x04,
        /// Canonical resource URI.
        Endpoint = 0x05,
        /// Profile word.
        Profile = 0x06,
        /// List of reviewed OAuth scopes.
        Scopes = 0x07,
        /// Raw manifest digest, 32 bytes.
        ManifestDigest = 0x08,
        /// OAuth issuer.
        Issuer = 0x09,
        /// OAuth client id.
        ClientId = 0x0a,
        /// Secret kind word.
        SecretKind = 0x0b,
        /// Table that the row stands in.
        Table = 0x0c,
        /// Column that the blob stands in.
        Column = 0x0d,
        /// Row id.
        RowId = 0x0e,
        /// Kind of the KEK provider.
        KekProvider = 0x0f,
        /// Full name of the key at its provider, never an alias.
        KekId = 0x10,
        /// Version of that key; empty for providers that rotate versions themselves.
        KekVersion = 0x11,
        /// Commitment of the version before, 32 bytes, empty at version 1.
        PrevCommit = 0x12,
        /// Device that sealed it.
        AuthorDevice = 0x13,
        /// Generation of the sealing key, u32.
        UskGen = 0x14,
        /// Review digest, 32 bytes.
        ReviewDigest = 0x16,
        /// `iss ‖ 00 ‖ sub`, empty where the issuer names nobody.
        Subject = 0x17,
        /// The session that a transient secret belongs to, 32 bytes.
        SessionBinding = 0x19,
    }
}

/// Tag numbers that are spoken for by formats nobody makes yet, with their meaning.
pub const RESERVED_TAGS: &[(u8, &str)] = &[(0x15, "group_epoch"), (0x18, "event_meta")];

/// One row of the table of required tags (2.a.3): exactly these tags, no fewer and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextRow {
    /// The blob type.
    pub blob: BlobType,
    /// The domain word that opens the context.
    pub domain: &'static str,
    /// Tags, ascending.
    pub tags: &'static [Tag],
}

const TENANT_KEY_TAGS: &[Tag] = &[
    Tag::Deployment,
    Tag::Workspace,
    Tag::Table,
    Tag::Column,
    Tag::RowId,
    Tag::KekProvider,
    Tag::KekId,
    Tag::KekVersion,
];

const VAULT_KEY_TAGS: &[Tag] =
    &[Tag::Deployment, Tag::Workspace, Tag::Connection, Tag::SecretKind, Tag::Table, Tag::Column, Tag::RowId];

const CLOUD_CREDENTIAL_TAGS: &[Tag] = &[
    Tag::Deployment,
    Tag::Workspace,
    Tag::Project,
    Tag::Connection,
    Tag::Endpoint,
    Tag::Profile,
    Tag::Scopes,
    Tag::ManifestDigest,
    Tag::Issuer,
    Tag::ClientId,
    Tag::SecretKind,
    Tag::RowId,
    Tag::ReviewDigest,
    Tag::Subject,
];

const OAUTH_TRANSIENT_TAGS: &[Tag] = &[
    Tag::Deployment,
    Tag::Workspace,
    Tag::Connection,
    Tag::Endpoint,
    Tag::Issuer,
    Tag::ClientId,
    Tag::SecretKind,
    Tag::SessionBinding,
];

const CREDENTIAL_TAGS: &[Tag] = &[
    Tag::Deployment,
    Tag::Workspace,
    Tag::Project,
    Tag::Connection,
    Tag::Endpoint,
    Tag::Profile,
    Tag::Scopes,
    Tag::ManifestDigest,
    Tag::Issuer,
    Tag::ClientId,
    Tag::SecretKind,
    Tag::PrevCommit,
    Tag::AuthorDevice,
    Tag::UskGen,
    Tag::ReviewDigest,
    Tag::Subject,
];

const DEVICE_LOCAL_TAGS: &[Tag] = &[
    Tag::Deployment,
    Tag::Workspace,
    Tag::Connection,
    Tag::Endpoint,
    Tag::Issuer,
    Tag::ClientId,
    Tag::SecretKind,
    Tag::RowId,
    Tag::AuthorDevice,
    Tag::UskGen,
];

/// The table of required tags (2.a.3), one row for each type in use.
pub const CONTEXT_ROWS: &[ContextRow] = &[
    ContextRow { blob: BlobType::SealedCredential, domain: "cred.device_direct", tags: CREDENTIAL_TAGS },
    ContextRow { blob: BlobType::CredentialKey, domain: "cred.device_direct", tags: CREDENTIAL_TAGS },
    ContextRow { blob: BlobType::DeviceLocal, domain: "device.local", tags: DEVICE_LOCAL_TAGS },
    ContextRow { blob: BlobType::WrappingKey, domain: "vault.wk", tags: TENANT_KEY_TAGS },
    ContextRow { blob: BlobType::TenantMasterKey, domain: "vault.tmk", tags: TENANT_KEY_TAGS },
    ContextRow { blob: BlobType::VaultKey, domain: "vault.dek", tags: VAULT_KEY_TAGS },
    ContextRow { blob: BlobType::CloudCredential, domain: "cred.cloud_proxy", tags: CLOUD_CREDENTIAL_TAGS },
    ContextRow { blob: BlobType::OAuthTransient, domain: "oauth.txn", tags: OAUTH_TRANSIENT_TAGS },
];

words! {
    /// What kind of secret a credential is (CTX tag 0b).
    SecretKind {
        /// No secret: the server asks for none.
        None = "none",
        /// A bearer token that a person typed.
        StaticBearer = "static_bearer",
        /// The value of one header that a person typed.
        StaticHeader = "static_header",
        /// Tokens that an authorization server granted.
        OAuth = "oauth",
        /// The secret of a client that a person registered.
        ClientSecret = "client_secret",
        /// What a client that we registered needs: its secret, its registration token, or both.
        Dcr = "dcr",
        /// An authorization in progress: its state and its PKCE verifier.
        Pkce = "pkce",
    }
}

numbers! {
    /// What a signature is about (2.c.1). A changed meaning gets a new number; unknown numbers fail closed.
    SignedType: u16 {
        /// A review record.
        Review = 1,
        /// What a device says about a credential that it sealed.
        CredentialStatement = 2,
    }
}

numbers! {
    /// Algorithm of a signing key (2.c.1); a property of the registered key, never chosen by a message. 2 to 4 are kept.
    SignatureAlg: u16 {
        /// Ed25519 (RFC 8032), verified strictly.
        Ed25519 = 1,
    }
}

/// First bytes of every blob.
pub const MAGIC: [u8; 4] = *b"CLV2";
/// Bytes before the ciphertext.
pub const HEADER_BYTES: usize = 128;
/// Bytes that the AEAD adds to the plaintext.
pub const TAG_BYTES: usize = 16;

/// The bytes are not a CLV2 blob: magic, type, suite, reserved bytes, lengths or maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a sealed blob")]
pub struct FormatError;

/// A blob taken apart (2.a.2). What it says of itself proves nothing until it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedBlob<'a> {
    /// The type it claims.
    pub blob: BlobType,
    /// The suite it claims.
    pub suite: Suite,
    /// Id of the key that would open it.
    pub key_id: [u8; 16],
    /// Generation of that key.
    pub key_gen: u32,
    /// Version of the object.
    pub version: u64,
    /// Salt of the key derivation.
    pub salt: [u8; 32],
    /// Commitment to key and context; the id of this version in the chain of versions.
    pub commitment: [u8; 32],
    /// Nonce of the AEAD.
    pub nonce: [u8; 24],
    /// Ciphertext and tag.
    pub ciphertext: &'a [u8],
}

impl<'a> ClaimedBlob<'a> {
    /// Takes a blob apart. Lengths are compared with what is there; nothing is allocated.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        if bytes.len() > limits::BLOB_BYTES_MAX {
            return Err(FormatError);
        }
        let mut rest = bytes;
        if take::<4>(&mut rest)? != MAGIC {
            return Err(FormatError);
        }
        let [blob] = take(&mut rest)?;
        let [suite] = take(&mut rest)?;
        if take::<2>(&mut rest)? != [0, 0] {
            return Err(FormatError);
        }
        let blob = Self {
            blob: BlobType::parse(blob).ok_or(FormatError)?,
            suite: Suite::parse(suite).ok_or(FormatError)?,
            key_id: take(&mut rest)?,
            key_gen: u32::from_be_bytes(take(&mut rest)?),
            version: u64::from_be_bytes(take(&mut rest)?),
            salt: take(&mut rest)?,
            commitment: take(&mut rest)?,
            nonce: take(&mut rest)?,
            ciphertext: {
                let length = u32::from_be_bytes(take(&mut rest)?);
                // Bytes may neither be missing nor follow.
                if usize::try_from(length) != Ok(rest.len()) || rest.len() < TAG_BYTES {
                    return Err(FormatError);
                }
                rest
            },
        };
        Ok(blob)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], FormatError> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or(FormatError)?;
    *rest = tail;
    Ok(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_type_has_one_row_and_its_tags_ascend() {
        for blob in BlobType::ALL {
            assert_eq!(CONTEXT_ROWS.iter().filter(|row| row.blob == *blob).count(), 1, "{blob:?}");
        }
        for row in CONTEXT_ROWS {
            assert!(row.tags.is_sorted_by(|a, b| a < b), "{:?}", row.blob);
        }
    }

    #[test]
    fn reserved_numbers_are_nobody_elses() {
        let types: BTreeSet<u8> = BlobType::ALL.iter().map(|blob| blob.number()).collect();
        assert!(RESERVED_TYPES.iter().all(|(number, _)| !types.contains(number)));
        let tags: BTreeSet<u8> = Tag::ALL.iter().map(|tag| tag.number()).collect();
        assert!(RESERVED_TAGS.iter().all(|(number, _)| !tags.contains(number)));
        assert_eq!(tags.len() + RESERVED_TAGS.len(), 0x19);
    }

    fn blob(ciphertext: &[u8]) -> Vec<u8> {
        let mut bytes = b"CLV2\x10\x01\0\0".to_vec();
        bytes.extend([7; 16]);
        bytes.extend(3_u32.to_be_bytes());
        bytes.extend(9_u64.to_be_bytes());
        bytes.extend([0x11; 32]);
        bytes.extend([0x22; 32]);
        bytes.extend([0x33; 24]);
        bytes.extend(u32::try_from(ciphertext.len()).expect("short").to_be_bytes());
        bytes.extend(ciphertext);
        bytes
    }

    #[test]
    fn a_blob_is_taken_apart_exactly() {
        let bytes = blob(&[5; 20]);
        let claimed = ClaimedBlob::parse(&bytes).expect("a blob");
        assert_eq!(bytes.len(), HEADER_BYTES + 20);
        assert_eq!((claimed.blob, claimed.key_gen, claimed.version), (BlobType::SealedCredential, 3, 9));
        assert_eq!((claimed.commitment, claimed.ciphertext), ([0x22; 32], &[5; 20][..]));
    }

    #[test]
    fn every_other_structure_is_refused() {
        let good = blob(&[5; 20]);
        for length in 0..good.len() {
            assert_eq!(ClaimedBlob::parse(&good[..length]), Err(FormatError), "prefix {length}");
        }
        assert_eq!(ClaimedBlob::parse(&[&good[..], &[0]].concat()), Err(FormatError), "appended");
        assert_eq!(ClaimedBlob::parse(&blob(&[5; 15])), Err(FormatError), "no room for a tag");
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        for (at, byte) in [(0, b'X'), (3, b'1'), (6, 1), (7, 0x80), (124, 0xff)] {
            assert_eq!(ClaimedBlob::parse(&with(at, byte)), Err(FormatError), "byte {at}");
        }
        for number in 0..=u8::MAX {
            assert_eq!(
                ClaimedBlob::parse(&with(4, number)).is_ok(),
                [0x01, 0x02, 0x03, 0x04, 0x05, 0x10, 0x11, 0x15].contains(&number),
                "type {number:#x}"
            );
            assert_eq!(ClaimedBlob::parse(&with(5, number)).is_ok(), number == 1, "suite {number:#x}");
        }
        let bomb = [&good[..124], &u32::MAX.to_be_bytes(), &[5; 20]].concat();
        assert_eq!(ClaimedBlob::parse(&bomb), Err(FormatError), "length bomb");
        let huge = blob(&vec![5; limits::BLOB_BYTES_MAX - HEADER_BYTES + 1]);
        assert_eq!(ClaimedBlob::parse(&huge), Err(FormatError), "larger than the maximum");
        assert!(ClaimedBlob::parse(&blob(&vec![5; limits::BLOB_BYTES_MAX - HEADER_BYTES])).is_ok());
    }
}
