//! Every label that reaches a hash, a MAC, a key derivation or a signature, in one alphabetical list; versioned, never reused, retired ones stay listed. Holds no key.

macro_rules! labels {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal;)+) => {
        $($(#[doc = $doc])+ pub const $name: &[u8] = $value;)+

        /// Name and bytes of every label in use, in the order of this file.
        pub const ALL: &[(&str, &[u8])] = &[$((stringify!($name), $value)),+];
    };
}

// Alphabetical by name; append-only. A changed meaning gets a new label, and the old one moves to `RETIRED`.
labels! {
    /// What the boot canary holds (2.a.4).
    CANARY = b"collie.canary.v2\0";
    /// Start of every canonical context (2.a.3).
    CTX = b"collie.ctx.v2\0";
    /// Commitment to key and context of a CLV2 blob (2.a.2).
    ENV_COMMIT = b"collie.env.v2 commit\0";
    /// Encryption key of a CLV2 blob (2.a.2).
    ENV_ENC = b"collie.env.v2 enc\0";
    /// Digest of a server's instructions (2.h).
    INSTRUCTIONS = b"collie.instructions.v2\0";
    /// Key id of a long-lived key (2.a.3).
    KEY_ID = b"collie.kid.v2\0";
    /// Digest of a raw manifest (2.h).
    MANIFEST = b"collie.manifest.v2\0";
    /// Digest of one exact operation: connection, review, tool and arguments.
    OPERATION = b"collie.operation.v1\0";
    /// Key of one family of refresh tokens (2.e).
    REFRESH_FAMILY = b"collie.rt.family.v2\0";
    /// The n-th refresh token of a family (2.e).
    REFRESH_TOKEN = b"collie.rt.v2\0";
    /// Names the session that a transient secret belongs to (CTX tag 19).
    SESSION_BINDING = b"collie.session-binding.v2\0";
    /// Start of every signature input (2.c.1).
    SIGNATURE = b"collie.sig.v2\0";
    /// Checksum of a key text (2.b.3).
    TEXT_CHECKSUM = b"collie-seal-v2 checksum\0";
    /// Key id of a key text (2.b.3).
    TEXT_KEY_ID = b"collie-seal-v2 kid\0";
    /// Stored form of an access token (2.e).
    TOKEN_ACCESS = b"collie.token.access.v2\0";
    /// Stored form of a browser's session cookie.
    TOKEN_BROWSER_SESSION = b"collie.token.browser.v2\0";
    /// Stored form of a pairing's device code.
    TOKEN_DEVICE_CODE = b"collie.token.device-code.v2\0";
    /// Token of a form inside one browser session.
    TOKEN_FORM = b"collie.token.form.v2\0";
    /// Stored form of an owner link's token.
    TOKEN_OWNER_LINK = b"collie.token.owner-link.v2\0";
    /// Stored form of a pairing's user code.
    TOKEN_USER_CODE = b"collie.token.user-code.v2\0";
    /// Digest of one tool of a raw manifest (2.h).
    TOOL = b"collie.tool.v2\0";
    /// Public id of a generation of a person's sealing key (2.b.2).
    USK_ID = b"collie.usk.v2 id\0";
    /// Key of device-local secrets, derived from a generation of the sealing key (2.a.3).
    USK_LOCAL = b"collie.usk.v2 local\0";
    /// Key that wraps data keys, derived from a generation of the sealing key (2.b.1).
    USK_SEAL = b"collie.usk.v2 seal\0";
    /// The public client's idempotency key of one brokered call (wire-collie-v1 3.5, frozen).
    V1_CALL_KEY = b"collie-online-v1\0";
    /// Start of the public client's additional data (wire-collie-v1 3.1, frozen).
    V1_SEALED = b"collie-sealed-v1\0";
}

/// Labels that were in use once. They stay here so that nobody gives them a second meaning.
pub const RETIRED: &[&[u8]] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_versioned_terminated_and_never_shared() {
        let mut seen = std::collections::BTreeSet::new();
        for (name, label) in ALL.iter().copied().chain(RETIRED.iter().map(|label| ("retired", *label))) {
            let text = std::str::from_utf8(label).expect("ASCII");
            let (last, body) = label.split_last().expect("not empty");
            assert_eq!(*last, 0, "{name} ends with NUL");
            assert!(!body.contains(&0), "{name} holds no other NUL, so no label is the start of another");
            assert!(
                text.starts_with("collie") && (text.contains("v2") || text.contains("v1")),
                "{name} names product and version"
            );
            assert!(seen.insert(label), "{name} is used twice");
        }
    }

    #[test]
    fn the_list_is_alphabetical_by_name() {
        let names: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
    }
}
