//! Which certificates are believed: the system's roots, or exactly one leaf by its fingerprint. Never accepts a certificate unseen, and says which one it saw when it refuses.

use contract::{Digest, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The SHA-256 of a leaf certificate (DER), as a person compares and pins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(Digest);

/// The text is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 fingerprint of 64 hexadecimal digits")]
pub struct FingerprintError;

impl Fingerprint {
    /// The fingerprint of a certificate in DER form.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        Self(Digest::of(&[certificate]))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", digest::hex(self.0.as_bytes()))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Reads 64 hexadecimal digits in either case, with or without `sha256:` before them and colons between the bytes.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let rest =
            text.get(..7).filter(|head| head.eq_ignore_ascii_case("sha256:")).map_or(text, |head| &text[head.len()..]);
        let digits: Vec<u8> = match rest.split(':').collect::<Vec<_>>() {
            bytes if bytes.len() == 32 && bytes.iter().all(|byte| byte.len() == 2) => bytes.concat(),
            whole if whole.len() == 1 => rest.to_owned(),
            _ => return Err(FingerprintError),
        }
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(FingerprintError))
        .collect::<Result<_, _>>()?;
        let bytes: Vec<u8> =
            digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| (byte << 4) | digit)).collect();
        <[u8; 32]>::try_from(bytes)
            .ok()
            .filter(|_| digits.len() == 64)
            .map(|bytes| Self(Digest::from_bytes(bytes)))
            .ok_or(FingerprintError)
    }
}

/// A certificate that was refused; travels through rustls to the connector.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) seen: Fingerprint,
    pub(crate) reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    fn into_error(self) -> rustls::Error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(self))))
    }

    /// Finds the refusal in an error of rustls.
    pub(crate) fn find(error: &rustls::Error) -> Option<&Self> {
        if let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) = error {
            return inner.downcast_ref();
        }
        None
    }
}

/// A configuration that believes the system's roots and `extra` ones; HTTP/1.1 only.
pub(crate) fn roots_config(extra: &[CertificateDer<'static>]) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in extra {
        roots.add(certificate.clone())?;
    }
    let provider = provider();
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    config(provider, Arc::new(ByRoots(inner)))
}

/// A configuration that believes exactly one certificate; HTTP/1.1 only.
pub(crate) fn pinned_config(pin: Fingerprint) -> Result<ClientConfig, rustls::Error> {
    let provider = provider();
    config(Arc::clone(&provider), Arc::new(ByPin { pin, provider }))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn config(provider: Arc<CryptoProvider>, verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // No session tickets: a resumed session would skip the verifier.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// The usual rules (RFC 5280, RFC 9525); a refusal carries the fingerprint that was seen.
#[derive(Debug)]
struct ByRoots(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for ByRoots {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.0
            .verify_server_cert(leaf, intermediates, name, ocsp, now)
            .map_err(|error| Refused { seen: Fingerprint::of(leaf), reason: reason_of(&error) }.into_error())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

fn reason_of(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(reason) = error else { return error.to_string() };
    if matches!(reason, CertificateError::UnknownIssuer) {
        "unknown issuer".to_owned()
    } else if matches!(reason, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        "expired".to_owned()
    } else if matches!(reason, CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }) {
        "made for another name".to_owned()
    } else {
        error.to_string()
    }
}

/// One leaf certificate, whatever its name, issuer and dates: the person compared its fingerprint. The handshake's signature is still verified, so only the holder of its key passes.
#[derive(Debug)]
struct ByPin {
    pin: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ByPin {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let seen = Fingerprint::of(leaf);
        if seen == self.pin {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Refused { seen, reason: "not the pinned one".to_owned() }.into_error())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, leaf, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, leaf, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_reads_back_in_every_usual_spelling() {
        let print = Fingerprint::of(b"certificate");
        let text = print.to_string();
        let hex = text.strip_prefix("sha256:").expect("begins so");
        let colons = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).to_uppercase())
            .collect::<Vec<_>>()
            .join(":");
        for spelling in [text.clone(), hex.to_owned(), colons.clone(), format!("SHA256:{colons}")] {
            assert_eq!(spelling.parse(), Ok(print), "{spelling}");
        }
        for bad in [
            "",
            "sha256:",
            &hex[1..],
            &format!("{hex}00"),
            &hex.replace(&hex[..1], "g"),
            &format!(":{hex}"),
            "sha256:é",
        ] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(FingerprintError), "{bad}");
        }
    }
}
