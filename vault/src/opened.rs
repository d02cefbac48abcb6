//! A secret that opened, and what it was opened for. It leaves by one function, which asks for the proof that its purpose needs and gives no more than that purpose uses.

use authority::Spent;
use contract::{Digest, blob::SecretKind, ids::ConnectionId};
use seal::{
    CloudSecret, Credential,
    cloud_secret::{AccessToken, OAuthGrant},
};
use sign::Secret;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// What a secret is opened for.
pub trait Purpose: sealed::Sealed {
    /// What must be shown to use it.
    type Proof<'a>;
    /// What it gives: no more than this purpose needs.
    type Given;

    #[doc(hidden)]
    fn check(about: &About, proof: Self::Proof<'_>) -> Result<(), ProofError>;

    #[doc(hidden)]
    fn give(secret: CloudSecret) -> Option<Self::Given>;
}

/// What an opened secret belongs to.
#[doc(hidden)]
pub struct About {
    pub(crate) connection: ConnectionId,
    pub(crate) review_digest: Option<Digest>,
    pub(crate) version: u64,
}

/// The proof is of another connection, review or version, or the secret is of a kind that this purpose has no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the credential was not opened for this")]
pub struct ProofError;

/// A secret that opened as what its row says.
///
/// For a call it leaves with the permit that was spent on exactly this connection and review:
///
/// ```
/// # use collie_vault::{Call, CallCredential, Opened, ProofError};
/// fn send(opened: Opened<Call>, spent: &authority::Spent) -> Result<CallCredential, ProofError> {
///     opened.expose_for_upstream_request(spent)
/// }
/// ```
/// And not without:
/// ```compile_fail
/// # use collie_vault::{Call, CallCredential, Opened, ProofError};
/// fn send(opened: Opened<Call>, spent: &authority::Spent) -> Result<CallCredential, ProofError> {
///     opened.expose_for_upstream_request(())
/// }
/// ```
/// What was opened to read the manifest makes no call:
/// ```compile_fail
/// # use collie_vault::{ReadManifest, CallCredential, Opened, ProofError};
/// fn send(opened: Opened<ReadManifest>, spent: &authority::Spent) -> Result<CallCredential, ProofError> {
///     opened.expose_for_upstream_request(spent)
/// }
/// ```
/// It leaves once:
/// ```compile_fail
/// # use collie_vault::{Call, CallCredential, Opened, ProofError};
/// fn send(opened: Opened<Call>, spent: &authority::Spent) -> Result<CallCredential, ProofError> {
///     let _ = opened.expose_for_upstream_request(spent);
///     opened.expose_for_upstream_request(spent)
/// }
/// ```
/// And never into a log:
/// ```compile_fail
/// # use collie_vault::{Call, CallCredential, Opened, ProofError};
/// fn send(opened: Opened<Call>, spent: &authority::Spent) -> Result<CallCredential, ProofError> {
///     let _ = format!("{opened:?}");
///     opened.expose_for_upstream_request(spent)
/// }
/// ```
#[must_use = "an opened credential that nobody uses should not have been opened"]
pub struct Opened<P> {
    secret: CloudSecret,
    about: About,
    purpose: PhantomData<P>,
}

impl<P: Purpose> Opened<P> {
    pub(crate) const fn new(secret: CloudSecret, about: About) -> Self {
        Self { secret, about, purpose: PhantomData }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &ConnectionId {
        &self.about.connection
    }

    /// The digest of the review it was sealed under, authenticated by the vault's keys (2.h); absent while it waits for one.
    #[must_use]
    pub const fn review_digest(&self) -> Option<&Digest> {
        self.about.review_digest.as_ref()
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.about.version
    }

    /// What kind of secret it is.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.secret.kind()
    }

    /// When its access token ends, Unix seconds: `Some(None)` where the server did not say.
    #[must_use]
    pub const fn access_expires_at_s(&self) -> Option<Option<u64>> {
        match &self.secret {
            CloudSecret::Grant(OAuthGrant { access: Some(access), .. }) => Some(access.expires_at_s),
            CloudSecret::Grant(OAuthGrant { access: None, .. })
            | CloudSecret::Typed(_)
            | CloudSecret::ClientSecret(_)
            | CloudSecret::Registration(_)
            | CloudSecret::Authorization(_) => None,
        }
    }

    /// The one way out of the vault.
    pub fn expose_for_upstream_request(self, proof: P::Proof<'_>) -> Result<P::Given, ProofError> {
        P::check(&self.about, proof)?;
        // EXPOSE: to the one request that the purpose names.
        P::give(self.secret).ok_or(ProofError)
    }
}

/// What goes onto a request to the reviewed endpoint. A refresh token never does.
pub enum CallCredential {
    /// What a person typed, or nothing.
    Typed(Credential),
    /// A bearer token.
    Access(AccessToken),
    /// The grant has no access token now; it must be refreshed first.
    RefreshFirst,
}

fn for_endpoint(secret: CloudSecret) -> Option<CallCredential> {
    match secret {
        CloudSecret::Typed(credential) => Some(CallCredential::Typed(credential)),
        CloudSecret::Grant(grant) => Some(grant.access.map_or(CallCredential::RefreshFirst, CallCredential::Access)),
        CloudSecret::ClientSecret(_) | CloudSecret::Registration(_) | CloudSecret::Authorization(_) => None,
    }
}

macro_rules! purposes {
    ($($(#[doc = $doc:literal])+ $name:ident: $proof:ty => $given:ty, $check:expr, $give:expr;)+) => {$(
        $(#[doc = $doc])+
        pub enum $name {}

        impl sealed::Sealed for $name {}

        impl Purpose for $name {
            type Proof<'a> = $proof;
            type Given = $given;

            fn check(about: &About, proof: Self::Proof<'_>) -> Result<(), ProofError> {
                let check: fn(&About, Self::Proof<'_>) -> bool = $check;
                if check(about, proof) { Ok(()) } else { Err(ProofError) }
            }

            fn give(secret: CloudSecret) -> Option<Self::Given> {
                let give: fn(CloudSecret) -> Option<Self::Given> = $give;
                give(secret)
            }
        }
    )+};
}

purposes! {
    /// One call of one tool.
    Call: &'a Spent => CallCredential, |about, spent| {
        let operation = spent.operation();
        *operation.connection() == about.connection && Some(operation.review()) == about.review_digest
    }, for_endpoint;
    /// A downstream credential for a device, on a loan that is written down.
    Loan: &'a store::Loan => AccessToken, |about, loan| {
        let same = (&loan.connection_id, Some(&loan.review_digest), loan.credential_version)
            == (&about.connection, about.review_digest.as_ref(), about.version);
        same && loan.ended_at_ms.is_none()
    }, |secret| match secret {
        CloudSecret::Grant(grant) => grant.access,
        // What a person typed has no end, so it is not lent.
        CloudSecret::Typed(_) | CloudSecret::ClientSecret(_) | CloudSecret::Registration(_) | CloudSecret::Authorization(_) => None,
    };
    /// Reading tools/list, also while the review does not stand.
    ReadManifest: () => CallCredential, |_, ()| true, for_endpoint;
    /// Refreshing the grant, under the owner's intent.
    Refresh: &'a store::Intent => CloudSecret, |about, intent| intent.version == about.version, |secret| match secret {
        CloudSecret::Grant(_) => Some(secret),
        CloudSecret::Typed(_) | CloudSecret::ClientSecret(_) | CloudSecret::Registration(_) | CloudSecret::Authorization(_) => None,
    };
    /// Showing the client at its issuer's endpoints: its own secret, never a token.
    ClientAuth: () => CloudSecret, |_, ()| true, |secret| match secret {
        CloudSecret::ClientSecret(_) | CloudSecret::Registration(_) => Some(secret),
        CloudSecret::Typed(_) | CloudSecret::Grant(_) | CloudSecret::Authorization(_) => None,
    };
    /// Ending the grant, the client or its registration at the provider.
    Revoke: () => CloudSecret, |_, ()| true, Some;
    /// Going on with an authorization in progress.
    SignIn: () => Secret<Vec<u8>>, |_, ()| true, |secret| match secret {
        CloudSecret::Authorization(bytes) => Some(bytes),
        CloudSecret::Typed(_) | CloudSecret::Grant(_) | CloudSecret::ClientSecret(_) | CloudSecret::Registration(_) => None,
    };
}
