//! Takes the answer of an authorization (RFC 6749 4.1.2, RFC 9207). Never shows the server's words, never takes an answer twice, and never a code of another issuer.

use super::error::ErrorCode;
use super::form::decode;
use super::transaction::{Transaction, lookup};
use contract::limits;
use sign::Secret;

/// An answer as the browser brought it, or as a person pasted it. Nothing of it is believed yet.
pub struct Callback {
    state: Option<Secret<String>>,
    code: Option<Secret<String>>,
    iss: Option<String>,
    error: Option<ErrorCode>,
}

/// Why an answer gives no code. The server's own words are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// It cannot be read, or a parameter stands twice.
    #[error("the answer of the authorization server cannot be read: {what}")]
    Malformed {
        /// Why not.
        what: &'static str,
    },
    /// It goes with another authorization, or with none.
    #[error("the answer belongs to another authorization")]
    OtherState,
    /// It is of another issuer, or does not say of which although it was promised (RFC 9207 2.4).
    #[error("the answer does not come from the authorization server that was asked")]
    OtherIssuer,
    /// The time for it is over.
    #[error("the answer came too late")]
    TooLate,
    /// The server, or the person there, refused.
    #[error("the authorization was refused: {code}")]
    Refused {
        /// Its code.
        code: ErrorCode,
    },
}

/// An authorization code with all that it is bound to. Used once, by move.
#[must_use]
pub struct GrantedCode {
    pub(crate) code: Secret<String>,
    pub(crate) transaction: Transaction,
}

impl GrantedCode {
    /// What it is bound to.
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }
}

impl Callback {
    /// Reads the query of a request to the redirect address.
    pub fn parse(query: &str) -> Result<Self, CallbackError> {
        let bad = |what| CallbackError::Malformed { what };
        if query.len() > limits::OAUTH_CALLBACK_BYTES_MAX {
            return Err(bad("it is too long"));
        }
        let fields = decode(query).ok_or(bad("its query is broken"))?;
        let mut callback = Self { state: None, code: None, iss: None, error: None };
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in fields {
            // RFC 6749 3.1: not more than once. Two values are two readers' disagreement.
            if seen.contains(&name) {
                return Err(bad("a parameter stands twice"));
            }
            match name.as_str() {
                "state" => callback.state = Some(Secret::new(value)),
                "code" => callback.code = Some(Secret::new(value)),
                "iss" => callback.iss = Some(value),
                "error" => callback.error = Some(ErrorCode::parse(&value)),
                "access_token" | "id_token" | "response" => {
                    return Err(bad("it holds a token, which was not asked for"));
                }
                _ => {}
            }
            seen.push(name);
        }
        Ok(callback)
    }

    /// Reads an address that a person pasted; all before its query must be the redirect address, byte for byte.
    pub fn parse_pasted(text: &str, redirect_uri: &str) -> Result<Self, CallbackError> {
        let bad = |what| CallbackError::Malformed { what };
        let text = text.trim();
        let (address, query) = text.split_once('?').ok_or(bad("it has no query"))?;
        if address != redirect_uri {
            return Err(bad("it is not the redirect address"));
        }
        if query.contains('#') {
            return Err(bad("it has a fragment"));
        }
        Self::parse(query)
    }

    /// The name of the transaction that it claims to go with, as [`Transaction::lookup`].
    #[must_use]
    pub fn lookup(&self) -> Option<contract::Digest> {
        self.state.as_ref().map(lookup)
    }
}

impl Transaction {
    /// Whether an answer goes with this authorization; constant time. A stranger's request does not use the authorization up.
    #[must_use]
    pub fn is_answered_by(&self, callback: &Callback) -> bool {
        callback.state.as_ref().is_some_and(|state| state.is_same(&self.state))
    }

    /// Takes the answer, once. `iss` is compared before anything else is looked at, in refusals too.
    pub fn accept(self, callback: Callback, now_s: u64) -> Result<GrantedCode, CallbackError> {
        if !self.is_answered_by(&callback) {
            return Err(CallbackError::OtherState);
        }
        let same_issuer = match &callback.iss {
            Some(iss) => *iss == self.issuer,
            None => !self.iss_promised,
        };
        if !same_issuer {
            return Err(CallbackError::OtherIssuer);
        }
        if now_s >= self.ends_at_s {
            return Err(CallbackError::TooLate);
        }
        match (callback.error, callback.code) {
            (Some(code), None) => Err(CallbackError::Refused { code }),
            (None, Some(code)) if code.with(|code| !code.is_empty()) => {
                // EXPOSE: above, to a look whether it is empty.
                Ok(GrantedCode { code, transaction: self })
            }
            (Some(_), Some(_)) => Err(CallbackError::Malformed { what: "it holds a code and an error" }),
            (None, Some(_) | None) => Err(CallbackError::Malformed { what: "it holds no code" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://as.example/t";

    fn transaction(iss_promised: bool) -> Transaction {
        Transaction {
            issuer: ISSUER.to_owned(),
            client_id: "id".to_owned(),
            redirect_uri: "http://127.0.0.1:1/cb".to_owned(),
            resource: "https://h/mcp".to_owned(),
            scopes: Vec::new(),
            iss_promised,
            ends_at_s: 100,
            state: Secret::new("st".to_owned()),
            verifier: Secret::new("v".to_owned()),
        }
    }

    fn accept(promised: bool, query: &str) -> Result<(), CallbackError> {
        transaction(promised).accept(Callback::parse(query)?, 10).map(|_| ())
    }

    #[test]
    fn the_issuer_is_compared_byte_for_byte_and_first() {
        let right = "iss=https%3A%2F%2Fas.example%2Ft";
        assert_eq!(accept(true, &format!("code=c&state=st&{right}")), Ok(()));
        assert_eq!(accept(false, "code=c&state=st"), Ok(()));
        for wrong in [
            "code=c&state=st",
            "code=c&state=st&iss=",
            "code=c&state=st&iss=https%3A%2F%2Fas.example%2Ft%2F",
            "code=c&state=st&iss=https%3A%2F%2Fas.example%3A443%2Ft",
            "code=c&state=st&iss=HTTPS%3A%2F%2Fas.example%2Ft",
            "code=c&state=st&iss=https%3A%2F%2Fas.example%2FT",
            "error=access_denied&state=st",
            "error=access_denied&state=st&iss=https%3A%2F%2Fevil.example",
        ] {
            assert_eq!(accept(true, wrong), Err(CallbackError::OtherIssuer), "{wrong}");
        }
        // Not promised, but there: compared all the same.
        assert_eq!(accept(false, "code=c&state=st&iss=https%3A%2F%2Fevil"), Err(CallbackError::OtherIssuer));
        assert_eq!(
            accept(true, &format!("error=access_denied&state=st&{right}")),
            Err(CallbackError::Refused { code: ErrorCode::AccessDenied })
        );
    }

    #[test]
    fn the_state_is_ours_and_the_time_is_not_over() {
        for other in ["code=c", "code=c&state=", "code=c&state=sT", "code=c&state=st2", "error=access_denied&state=x"] {
            assert_eq!(accept(false, other), Err(CallbackError::OtherState), "{other}");
        }
        let callback = Callback::parse("code=c&state=st").expect("readable");
        assert_eq!(callback.lookup(), Some(transaction(false).lookup()));
        assert!(matches!(transaction(false).accept(callback, 100), Err(CallbackError::TooLate)));
    }

    #[test]
    fn answers_with_two_meanings_are_refused_and_no_words_are_shown() {
        for query in [
            "code=c&state=st&state=st",
            "code=c&code=d&state=st",
            "iss=a&iss=b",
            "code=%ff",
            "code=c&state=st&error=access_denied",
            "state=st",
            "state=st&code=",
            "state=st&access_token=t&code=c",
        ] {
            assert!(matches!(accept(false, query), Err(CallbackError::Malformed { .. })), "{query}");
        }
        let error = accept(false, "state=st&error=canary&error_description=canary").expect_err("refused");
        assert!(!error.to_string().contains("canary") && !format!("{error:?}").contains("canary"));
    }

    #[test]
    fn a_pasted_address_is_the_redirect_address() {
        let ours = "http://127.0.0.1:1/cb";
        assert!(Callback::parse_pasted(" http://127.0.0.1:1/cb?code=c&state=st\n", ours).is_ok());
        for other in [
            "http://127.0.0.1:1/cb",
            "http://127.0.0.1:2/cb?code=c",
            "https://127.0.0.1:1/cb?code=c",
            "http://127.0.0.1:1/cb?code=c#x",
        ] {
            assert!(Callback::parse_pasted(other, ours).is_err(), "{other}");
        }
    }
}
