//! What an authorization in progress is bound to, from the redirect to the token. One-time by move, and kept only as bytes that the caller seals.

use contract::limits;
use sign::Secret;
use zeroize::Zeroizing;

/// An authorization in progress: everything that its answer is compared with.
#[must_use]
pub struct Transaction {
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) resource: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) iss_promised: bool,
    pub(crate) ends_at_s: u64,
    pub(crate) state: Secret<String>,
    pub(crate) verifier: Secret<String>,
}

/// The bytes are no transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a kept authorization")]
pub struct TransactionError;

const VERSION: u8 = 1;
const FIELDS: usize = 9;

impl Transaction {
    /// The issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The client.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The redirect address.
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// The resource, byte for byte.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The scopes that were asked for.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// When it is over, Unix seconds.
    #[must_use]
    pub const fn ends_at_s(&self) -> u64 {
        self.ends_at_s
    }

    /// A name for the transaction that is safe to store: `SHA-256("collie.oauth.state\0" ‖ state)`. A callback has the same one.
    #[must_use]
    pub fn lookup(&self) -> contract::Digest {
        lookup(&self.state)
    }

    /// `01 ‖ { len u32 ‖ value } × 9`, to be sealed by the caller; state and verifier are inside.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<Vec<u8>> {
        let scopes = self.scopes.join(" ");
        let promised = if self.iss_promised { "1" } else { "0" };
        let ends = self.ends_at_s.to_string();
        let open = [&*self.issuer, &self.client_id, &self.redirect_uri, &self.resource, &scopes, promised, &ends];
        // EXPOSE: to the bytes that are made here, in one allocation that moves into custody.
        self.state.with(|state| {
            self.verifier.with(|verifier| {
                let fields = open.iter().copied().chain([state.as_str(), verifier.as_str()]);
                let mut bytes = Vec::with_capacity(1 + fields.clone().map(|field| 4 + field.len()).sum::<usize>());
                bytes.push(VERSION);
                for field in fields {
                    bytes.extend_from_slice(&u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
                    bytes.extend_from_slice(field.as_bytes());
                }
                Secret::new(bytes)
            })
        })
    }

    /// The inverse of [`Self::to_secret_bytes`].
    pub fn from_secret_bytes(bytes: &Secret<Vec<u8>>) -> Result<Self, TransactionError> {
        // EXPOSE: to the reader, which copies into custody.
        bytes.with(|bytes| read(bytes)).ok_or(TransactionError)
    }
}

pub(crate) fn lookup(state: &Secret<String>) -> contract::Digest {
    // EXPOSE: to the hash; the state has 256 random bits.
    state.with(|state| contract::Digest::of(&[b"collie.oauth.state\0", state.as_bytes()]))
}

fn read(bytes: &[u8]) -> Option<Transaction> {
    let (&version, mut rest) = bytes.split_first()?;
    if version != VERSION || bytes.len() > limits::OAUTH_FORM_BYTES_MAX {
        return None;
    }
    let mut fields: Vec<Zeroizing<String>> = Vec::with_capacity(FIELDS);
    for _ in 0..FIELDS {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (field, after) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        fields.push(Zeroizing::new(std::str::from_utf8(field).ok()?.to_owned()));
        rest = after;
    }
    let [issuer, client_id, redirect_uri, resource, scopes, promised, ends, state, verifier]: [_; FIELDS] =
        fields.try_into().ok()?;
    let take = |mut field: Zeroizing<String>| std::mem::take(&mut *field);
    let iss_promised = match promised.as_str() {
        "1" => true,
        "0" => false,
        _ => return None,
    };
    rest.is_empty().then(|| Transaction {
        issuer: take(issuer),
        client_id: take(client_id),
        redirect_uri: take(redirect_uri),
        resource: take(resource),
        scopes: scopes.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect(),
        iss_promised,
        ends_at_s: ends.parse().unwrap_or(0),
        state: Secret::new(take(state)),
        verifier: Secret::new(take(verifier)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction() -> Transaction {
        let text = str::to_owned;
        Transaction {
            issuer: text("https://as.example"),
            client_id: text("id"),
            redirect_uri: text("http://127.0.0.1:1/cb"),
            resource: text("https://h/mcp/"),
            scopes: vec![text("a"), text("b")],
            iss_promised: true,
            ends_at_s: 7,
            state: Secret::new(text("state")),
            verifier: Secret::new(text("verifier")),
        }
    }

    #[test]
    fn it_comes_back_whole_or_not_at_all() {
        let kept = transaction().to_secret_bytes();
        let back = Transaction::from_secret_bytes(&kept).expect("the same");
        assert!(back.to_secret_bytes().is_same(&kept));
        assert_eq!((back.scopes(), back.resource(), back.ends_at_s()), (transaction().scopes(), "https://h/mcp/", 7));
        assert!(back.verifier.is_same(&Secret::new("verifier".to_owned())));
        assert_eq!(back.lookup(), transaction().lookup());
        let bytes = kept.with(Clone::clone);
        for cut in 0..bytes.len() {
            assert!(Transaction::from_secret_bytes(&Secret::new(bytes[..cut].to_vec())).is_err(), "{cut}");
        }
        assert!(Transaction::from_secret_bytes(&Secret::new([&bytes[..], b"x"].concat())).is_err());
        assert!(Transaction::from_secret_bytes(&Secret::new([b"\x02", &bytes[1..]].concat())).is_err());
    }
}
