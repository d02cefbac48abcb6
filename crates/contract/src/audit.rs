//! What the service writes down about each change: a closed enum of ids, enums, digests and counts. It has no free text and no maps, so a secret cannot be put into it.

use crate::{
    Digest, Effect,
    blob::SecretKind,
    cjson::{self, JsonError},
    connection::{Profile, Scope, SealFormat, words},
    device::SessionClass,
    ids::{ConnectionId, DeploymentId, DeviceId, FamilyId, LoanId, PairingId, ProjectId, UserId, WorkspaceId},
    refresh::RefreshStatus,
    workspace::{Role, WorkspaceKind},
};
use serde::{Deserialize, Serialize};

/// Which gapless sequence an event belongs to. There is one per workspace and one for what happens before a workspace is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditLog {
    /// The installation's own log.
    Deployment(DeploymentId),
    /// A workspace's log.
    Workspace(WorkspaceId),
}

impl AuditLog {
    /// The id that names the log.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Deployment(id) => id.as_str(),
            Self::Workspace(id) => id.as_str(),
        }
    }
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// Somebody who has proved nothing yet, for example a device that starts to pair.
    Anonymous,
    /// A person in a signed-in browser.
    Browser(UserId),
    /// A paired device, by its signature.
    Device(DeviceId),
    /// The operator at the service's own terminal, or its first start.
    Operator,
}

impl Actor {
    /// `anonymous`, `operator`, or the id of the user or device.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Browser(user) => user.as_str(),
            Self::Device(device) => device.as_str(),
            Self::Operator => "operator",
        }
    }

    /// The word for the kind of actor; with [`Actor::as_str`] it tells a user from a device of the same name.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Browser(_) => "browser",
            Self::Device(_) => "device",
            Self::Operator => "operator",
        }
    }
}

/// An event with its log, its author and its time: what a commit writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an entry that is not committed explains nothing"]
pub struct AuditEntry {
    /// Whose sequence it joins.
    pub log: AuditLog,
    /// Who did it.
    pub actor: Actor,
    /// When, in Unix milliseconds by the service's clock.
    pub at_ms: i64,
    /// What.
    pub event: AuditEvent,
}

words! {
    /// How a call through the service ended.
    InvocationOutcome {
        /// The server answered.
        Answered = "answered",
        /// It certainly had no effect.
        Withdrawn = "withdrawn",
        /// It may have had an effect; nobody knows.
        Uncertain = "uncertain",
    }
}

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $variant:ident = $kind:literal { $($(#[doc = $fdoc:literal])+ $field:ident: $type:ty,)* },)+) => {
        /// Everything that can be written down. A kind is never reused and never changes its fields; another meaning is another kind.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum AuditEvent {
            $($(#[doc = $doc])+ #[serde(rename = $kind)] $variant { $($(#[doc = $fdoc])+ $field: $type,)* },)+
        }

        impl AuditEvent {
            /// Every kind there is, in the order of this file.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The kind's word, as in the table and in the body.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $kind),+ }
            }
        }
    };
}

events! {
    /// A browser session ended by its person or its owner.
    BrowserSessionClosed = "browser_session.closed" {
        /// Whose.
        user_id: UserId,
    },
    /// An owner link was used and a cookie session began.
    BrowserSessionOpened = "browser_session.opened" {
        /// Whose.
        user_id: UserId,
        /// End of the session, Unix milliseconds.
        expires_at_ms: i64,
    },
    /// A connection was registered; nobody has reviewed it yet.
    ConnectionCreated = "connection.created" {
        /// Which.
        connection_id: ConnectionId,
        /// Personal or project.
        scope: Scope,
        /// Its project; absent for a personal connection.
        project_id: Option<ProjectId>,
        /// Where its credential is opened.
        profile: Profile,
        /// Format of its credential.
        seal_format: SealFormat,
        /// Digest of the public client's tool rows.
        manifest_digest: Digest,
        /// Number of tools in them.
        tools: u64,
    },
    /// An id was given to a connection that is being made.
    ConnectionDrafted = "connection.drafted" {
        /// Which.
        connection_id: ConnectionId,
        /// Personal or project.
        scope: Scope,
        /// Its project; absent for a personal connection.
        project_id: Option<ProjectId>,
        /// Where its credential will be opened.
        profile: Profile,
        /// End of its life, Unix milliseconds.
        expires_at_ms: i64,
    },
    /// The sealed credential of a connection was replaced under its standing review.
    ConnectionCredentialSealed = "connection.credential_sealed" {
        /// Which.
        connection_id: ConnectionId,
        /// Version of the credential.
        credential_version: u64,
        /// Digest over the stored sealed form.
        commitment: Digest,
        /// Device that sealed it.
        author_device: DeviceId,
    },
    /// A device saw another manifest than the reviewed one; the review no longer stands.
    ConnectionDrifted = "connection.drifted" {
        /// Which.
        connection_id: ConnectionId,
        /// Digest of the manifest that was seen, where the report carries one.
        raw_digest: Option<Digest>,
        /// The review that fell.
        review_seq: u64,
    },
    /// A new consent replaced a grant; every standing intent to refresh is void.
    ConnectionReconsented = "connection.reconsented" {
        /// Which.
        connection_id: ConnectionId,
        /// The new epoch.
        grant_epoch: u64,
        /// Version of the credential.
        credential_version: u64,
        /// Digest over the stored sealed form.
        commitment: Digest,
    },
    /// The owner of an intent stored the refreshed credential.
    ConnectionRefreshed = "connection.refreshed" {
        /// Which.
        connection_id: ConnectionId,
        /// The epoch.
        grant_epoch: u64,
        /// Fence of the intent that ended with it.
        fence: u64,
        /// Version of the credential.
        credential_version: u64,
        /// Digest over the stored sealed form.
        commitment: Digest,
    },
    /// An owner declared that it will send the refresh token of one version.
    ConnectionRefreshIntended = "connection.refresh_intended" {
        /// Which.
        connection_id: ConnectionId,
        /// The epoch.
        grant_epoch: u64,
        /// Its fence.
        fence: u64,
        /// The version.
        credential_version: u64,
        /// Whether it took over another owner's intent.
        takes_over: bool,
    },
    /// A grant needs its person: nobody knows whether its refresh token was used, or the provider refused it.
    ConnectionRefreshStuck = "connection.refresh_stuck" {
        /// Which.
        connection_id: ConnectionId,
        /// The epoch.
        grant_epoch: u64,
        /// The version.
        credential_version: u64,
        /// How it stands now.
        status: RefreshStatus,
    },
    /// An owner took back an intent from which nothing was sent.
    ConnectionRefreshWithdrawn = "connection.refresh_withdrawn" {
        /// Which.
        connection_id: ConnectionId,
        /// Its fence.
        fence: u64,
        /// The version.
        credential_version: u64,
    },
    /// A person decided about a manifest.
    ConnectionReviewed = "connection.reviewed" {
        /// Which.
        connection_id: ConnectionId,
        /// 0 for a review of the public client, else the signed record's number.
        review_seq: u64,
        /// Digest of the public client's tool rows.
        manifest_digest: Digest,
        /// Digest of the raw manifest, for a signed review.
        raw_digest: Option<Digest>,
        /// Digest of the signed record, for a signed review.
        review_digest: Option<Digest>,
        /// What may run without asking.
        allowed_effects: Vec<Effect>,
    },
    /// A connection ended for good and its sealed credential was deleted.
    ConnectionRevoked = "connection.revoked" {
        /// Which.
        connection_id: ConnectionId,
    },
    /// A device claimed its approved pairing and exists from now on.
    DeviceEnrolled = "device.enrolled" {
        /// Which.
        device_id: DeviceId,
        /// Whose.
        user_id: UserId,
        /// SHA-256 of its public key.
        key_digest: Digest,
        /// How its sessions live.
        session_class: SessionClass,
    },
    /// A device and all its sessions ended for good.
    DeviceRevoked = "device.revoked" {
        /// Which.
        device_id: DeviceId,
        /// Whose.
        user_id: UserId,
        /// Session families that ended with it.
        families: u64,
    },
    /// A call through the service was written down before it leaves.
    InvocationBegun = "invocation.begun" {
        /// Through which connection.
        connection_id: ConnectionId,
        /// For which device.
        device_id: DeviceId,
        /// Digest that names connection, review, tool and arguments.
        operation: Digest,
        /// The tool's reviewed effect.
        effect: Effect,
    },
    /// A call through the service ended.
    InvocationEnded = "invocation.ended" {
        /// Through which connection.
        connection_id: ConnectionId,
        /// For which device.
        device_id: DeviceId,
        /// The same digest.
        operation: Digest,
        /// How.
        outcome: InvocationOutcome,
    },
    /// Calls of a process that is gone may have had an effect; nobody knows.
    InvocationsAbandoned = "invocation.abandoned" {
        /// How many.
        uncertain: u64,
    },
    /// A loan was given back, or its connection ended.
    LoanEnded = "loan.ended" {
        /// Which.
        loan_id: LoanId,
        /// From which connection.
        connection_id: ConnectionId,
    },
    /// A downstream credential was lent to a device.
    LoanIssued = "loan.issued" {
        /// Which.
        loan_id: LoanId,
        /// From which connection.
        connection_id: ConnectionId,
        /// To which device.
        device_id: DeviceId,
        /// The review it was lent under.
        review_digest: Digest,
        /// The version of the grant.
        credential_version: u64,
        /// When it ends at the latest, Unix milliseconds.
        ends_at_ms: i64,
        /// The person allowed loans that can do more than the reviewed tools.
        unchecked: bool,
    },
    /// Somebody joined a workspace.
    MemberAdded = "member.added" {
        /// Who.
        user_id: UserId,
        /// As what.
        role: Role,
    },
    /// Somebody left or was removed from a workspace.
    MemberRemoved = "member.removed" {
        /// Who.
        user_id: UserId,
        /// The role they had.
        role: Role,
    },
    /// A member's role changed.
    MemberRoleChanged = "member.role_changed" {
        /// Whose.
        user_id: UserId,
        /// Before.
        from: Role,
        /// After.
        to: Role,
    },
    /// The installation got its owner at its first start.
    OwnerCreated = "owner.created" {
        /// Who.
        user_id: UserId,
        /// Their personal workspace.
        workspace_id: WorkspaceId,
    },
    /// A one-time owner link was made.
    OwnerLinkIssued = "owner_link.issued" {
        /// For whom.
        user_id: UserId,
        /// End of its life, Unix milliseconds.
        expires_at_ms: i64,
    },
    /// A one-time owner link was used up.
    OwnerLinkUsed = "owner_link.used" {
        /// By whom.
        user_id: UserId,
    },
    /// A person bound a waiting device to their account.
    PairingApproved = "pairing.approved" {
        /// Which.
        pairing_id: PairingId,
        /// By whom.
        user_id: UserId,
        /// SHA-256 of the device's public key.
        key_digest: Digest,
        /// How its sessions will live.
        session_class: SessionClass,
    },
    /// The tokens of an approved pairing were handed out.
    PairingClaimed = "pairing.claimed" {
        /// Which.
        pairing_id: PairingId,
        /// The device it became.
        device_id: DeviceId,
    },
    /// A person said no, or too many wrong codes were typed.
    PairingRefused = "pairing.refused" {
        /// Which.
        pairing_id: PairingId,
    },
    /// A device asked to be paired.
    PairingStarted = "pairing.started" {
        /// Which.
        pairing_id: PairingId,
        /// SHA-256 of its public key.
        key_digest: Digest,
        /// How its sessions would live.
        session_class: SessionClass,
    },
    /// A project was made.
    ProjectCreated = "project.created" {
        /// Which.
        project_id: ProjectId,
        /// Its first owner.
        user_id: UserId,
    },
    /// Somebody joined a project.
    ProjectMemberAdded = "project.member_added" {
        /// Which.
        project_id: ProjectId,
        /// Who.
        user_id: UserId,
        /// As what.
        role: Role,
    },
    /// A project member's role changed.
    ProjectMemberRoleChanged = "project.member_role_changed" {
        /// Which.
        project_id: ProjectId,
        /// Whose.
        user_id: UserId,
        /// Before.
        from: Role,
        /// After.
        to: Role,
    },
    /// A used refresh token came again, so its whole family ended.
    SessionFamilyRevoked = "session.family_revoked" {
        /// Which.
        family_id: FamilyId,
        /// Of which device.
        device_id: DeviceId,
        /// The number that came.
        presented: u64,
        /// The number that stood.
        current: u64,
    },
    /// A device took a session in a workspace.
    SessionSelected = "session.selected" {
        /// The new family.
        family_id: FamilyId,
        /// The device.
        device_id: DeviceId,
    },
    /// A sign-in at an authorization server began.
    SignInStarted = "sign_in.started" {
        /// For which draft or connection.
        connection_id: ConnectionId,
        /// Asked for by which device.
        device_id: DeviceId,
    },
    /// The service's vault sealed a secret of a connection.
    VaultCredentialSealed = "vault.credential_sealed" {
        /// Of which connection.
        connection_id: ConnectionId,
        /// Which of its secrets.
        secret_kind: SecretKind,
        /// The version.
        credential_version: u64,
        /// The payload's commitment.
        commitment: Digest,
        /// Generation of the tenant key.
        tenant_key_generation: u64,
    },
    /// The vault was set up at its first start: the canary stands.
    VaultSetUp = "vault.set_up" {
        /// SHA-256 of the sealed canary.
        canary: Digest,
    },
    /// A workspace was made.
    WorkspaceCreated = "workspace.created" {
        /// Which.
        workspace_id: WorkspaceId,
        /// Personal or team.
        workspace_kind: WorkspaceKind,
        /// Its first owner.
        user_id: UserId,
    },
}

impl AuditEvent {
    /// Names log, author and time, in Unix milliseconds.
    pub fn entry(self, log: AuditLog, actor: Actor, at_ms: i64) -> AuditEntry {
        AuditEntry { log, actor, at_ms, event: self }
    }

    /// Canonical JSON of the event with its `kind`: what is stored, hashed and exported.
    pub fn canonical(&self) -> Result<Vec<u8>, JsonError> {
        cjson::to_canonical(self)
    }

    /// Reads what [`AuditEvent::canonical`] wrote; other bytes for the same meaning are refused.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let event: Self = cjson::from_slice(bytes, bytes.len())?;
        if event.canonical()? == bytes {
            return Ok(event);
        }
        Err(JsonError::Shape { field: ".".to_owned(), what: "not the canonical form of the event".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_its_bytes_and_its_kind() {
        let event = AuditEvent::ConnectionReviewed {
            connection_id: ConnectionId::from_random([1; 16]),
            review_seq: 3,
            manifest_digest: Digest::of(&[b"rows"]),
            raw_digest: None,
            review_digest: Some(Digest::of(&[b"review"])),
            allowed_effects: vec![Effect::Observe, Effect::Act],
        };
        let bytes = event.canonical().expect("canonical");
        assert_eq!(AuditEvent::parse(&bytes).expect("reads back"), event);
        let json = cjson::parse(&bytes, bytes.len()).expect("JSON");
        assert_eq!(json.find_str("kind"), Some(event.kind()));

        let spaced = [b" ".as_slice(), &bytes].concat();
        assert!(AuditEvent::parse(&spaced).is_err(), "another spelling is refused");
        let foreign = br#"{"kind":"connection.revoked","connection_id":"conn_1","note":"x"}"#;
        assert!(AuditEvent::parse(foreign).is_err(), "an unknown field is refused");
    }

    #[test]
    fn kinds_are_unique() {
        let mut by_noun: Vec<_> = AuditEvent::KINDS.to_vec();
        by_noun.sort_unstable();
        by_noun.dedup();
        assert_eq!(by_noun.len(), AuditEvent::KINDS.len());
    }
}
