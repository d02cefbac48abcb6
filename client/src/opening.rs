//! Opens a connection's credential as its signed review says, and thereby makes the review believable (2.h). Takes effects from nothing else, and opens nothing that the row around it contradicts.

use crate::error::CliError;
use contract::connection::{ConnectionRow, Scope, SealFormat, SignedWire};
use contract::credential::{CredentialStatement, SealedCredentialV2};
use contract::device::DeviceRow;
use contract::ids::{DeploymentId, DeviceId, WorkspaceId};
use contract::review::ReviewRecord;
use contract::{Code, Digest, Json};
use seal::device_direct::{CredentialOpenError, CredentialPlace};
use seal::{OpenedCredential, UserSealingKey, open_device_direct};
use sign::signed::SignedBody;
use sign::{PublicKey, Signed, Verified};

/// Keys of the account's devices, as the service's directory lists them. Until devices vouch for each other, the service attributes; it cannot make a credential open.
#[derive(Debug, Clone, Default)]
pub struct Directory(Vec<(DeviceId, PublicKey)>);

impl Directory {
    /// The usable keys of these rows; revoked devices included, whose old words still stand.
    #[must_use]
    pub fn of_rows(rows: &[DeviceRow]) -> Self {
        Self(rows.iter().filter_map(|row| Some((row.id.clone(), PublicKey::parse(&row.public_key).ok()?))).collect())
    }

    /// A directory of these keys.
    #[must_use]
    pub const fn new(keys: Vec<(DeviceId, PublicKey)>) -> Self {
        Self(keys)
    }

    /// The device that a key id belongs to.
    #[must_use]
    pub fn find(&self, kid: &Digest) -> Option<(&DeviceId, &PublicKey)> {
        self.0.iter().find(|(_, key)| key.kid() == *kid).map(|(device, key)| (device, key))
    }

    fn verify<T: SignedBody>(&self, wire: &SignedWire, what: &str) -> Result<(DeviceId, Verified<T>), CliError> {
        let signed =
            Signed::<T>::from_wire(wire).map_err(|error| refuse(format!("the {what} cannot be read: {error}")))?;
        let Some((device, key)) = self.find(signed.claimed_kid()) else {
            return Err(refuse(format!("the {what} is signed by a device that this account does not have")));
        };
        let verified = signed.verify(key).map_err(|error| refuse(format!("the {what} does not verify: {error}")))?;
        Ok((device.clone(), verified))
    }
}

/// A connection whose credential opened under its review.
pub struct OpenedConnection {
    /// The review, vouched for by the person's own key.
    pub review: ReviewRecord,
    /// The device that the service says made the review.
    pub reviewed_by: DeviceId,
    /// The credential.
    pub credential: OpenedCredential,
}

/// The installation and workspace a connection belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Tenancy<'a> {
    /// The installation, pinned at login.
    pub deployment: &'a DeploymentId,
    /// The workspace.
    pub workspace: &'a WorkspaceId,
}

/// Opens the credential of a v2 connection.
pub fn open_connection(
    usk: &UserSealingKey,
    tenancy: Tenancy<'_>,
    row: &ConnectionRow,
    sealed: &Json,
    directory: &Directory,
) -> Result<OpenedConnection, CliError> {
    if row.seal_format != SealFormat::V2 {
        return Err(CliError::internal("a connection in the public client's format has no signed review"));
    }
    let wire = row.review.as_ref().ok_or_else(|| {
        CliError::new(Code::ReviewRequired, format!("connection `{}` has no standing review", row.name))
            .hint(format!("run `collie online connection-review {}`", row.id))
    })?;
    let (reviewed_by, review) = directory.verify::<ReviewRecord>(wire, "review")?;
    let review = review.into_body();
    check_row(row, &review)?;
    let sealed = SealedCredentialV2::parse(sealed).map_err(|error| refuse(error.to_string()))?;
    let (author, statement) = directory.verify::<CredentialStatement>(&sealed.statement, "credential's statement")?;
    if author != sealed.author_device {
        return Err(refuse("the credential's statement is signed by another device than it names"));
    }
    let place = CredentialPlace::of_review(tenancy.deployment, tenancy.workspace, &review)
        .map_err(|error| refuse(error.to_string()))?;
    let credential = open_device_direct(usk, &place, &statement, &sealed).map_err(explain)?;
    Ok(OpenedConnection { review, reviewed_by, credential })
}

/// A row is what the service says; the review is what a person said. Where they differ, nothing opens.
fn check_row(row: &ConnectionRow, review: &ReviewRecord) -> Result<(), CliError> {
    let project = review.project.as_ref().map_or("", |project| project.as_str());
    let agree = [
        ("id", review.connection == row.id),
        ("endpoint", review.endpoint == row.endpoint),
        ("profile", review.profile == row.transport),
        ("scope", review.scope == row.scope && (review.scope == Scope::Project) == review.project.is_some()),
        ("project", project == row.project_id),
        ("manifest", review.raw_digest.b64u() == row.raw_digest),
        ("review number", review.review_seq == row.review_seq),
    ];
    match agree.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(refuse(format!("the service shows another {field} than the signed review"))),
        None => Ok(()),
    }
}

fn explain(error: CredentialOpenError) -> CliError {
    match error {
        CredentialOpenError::Open(_) => CliError::new(Code::WrongKey, "the credential does not open with this device's sealing key")
            .hint("if the key is from another account, import this account's key; else seal the credential again by `connection-review`"),
        CredentialOpenError::Malformed(_) | CredentialOpenError::OtherPlace { .. } | CredentialOpenError::OtherGeneration { .. } => {
            refuse(error.to_string())
        }
    }
}

fn refuse(message: impl Into<String>) -> CliError {
    CliError::new(Code::SignatureInvalid, message)
        .hint("nothing was opened or sent; ask the service's operator, and review the connection again if you trust what it shows")
}
