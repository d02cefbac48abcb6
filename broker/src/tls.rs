//! The listener's certificate: the operator's files, or one of the service's own making that devices pin by its fingerprint. Never accepts a client certificate and never speaks anything but HTTP/1.1.

use crate::{config::Tls, origin::Origin, private_files};
use contract::{Digest, limits};
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::{ServerConfig, crypto::aws_lc_rs};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A listener's TLS, ready to accept.
pub(crate) struct ServerTls {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) fingerprint: Fingerprint,
}

/// SHA-256 of a leaf certificate in DER form, as a person compares it and `login --server-fingerprint` pins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(Digest);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0.hex())
    }
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or made.
    #[error("cannot use `{path}`: {source}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds no certificate, or no private key.
    #[error("`{path}` holds no {what} in PEM form")]
    NotPem {
        /// Its path.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
    },
    /// Certificate and key do not belong together, or are of a kind that cannot serve.
    #[error("certificate and key cannot be used together: {0}")]
    Unusable(#[from] rustls::Error),
    /// The service's own certificate could not be made.
    #[error("the self-made certificate could not be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// Opens the certificate that `tls` asks for; none for [`Tls::Off`].
pub(crate) fn open(tls: &Tls, state_dir: &Path, origin: &Origin) -> Result<Option<ServerTls>, TlsError> {
    match tls {
        Tls::Off => Ok(None),
        Tls::Files { certificate, key } => load(certificate, key).map(Some),
        Tls::SelfMade => {
            let (certificate, key) = own_files(state_dir);
            if !certificate.exists() {
                make_own(&certificate, &key, origin)?;
            }
            load(&certificate, &key).map(Some)
        }
    }
}

/// The fingerprint of the certificate that stands now, without making one.
pub(crate) fn find_fingerprint(tls: &Tls, state_dir: &Path) -> Result<Option<Fingerprint>, TlsError> {
    let certificate = match tls {
        Tls::Off => return Ok(None),
        Tls::Files { certificate, .. } => certificate.clone(),
        Tls::SelfMade => own_files(state_dir).0,
    };
    if !certificate.exists() {
        return Ok(None);
    }
    Ok(load_chain(&certificate)?.first().map(fingerprint))
}

fn own_files(state_dir: &Path) -> (PathBuf, PathBuf) {
    let directory = state_dir.join("tls");
    (directory.join("certificate.pem"), directory.join("key.pem"))
}

/// The key first: a certificate that stands always has its key.
fn make_own(certificate: &Path, key: &Path, origin: &Origin) -> Result<(), TlsError> {
    let names: BTreeSet<_> = [origin.host(), "localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned).collect();
    let mut params = CertificateParams::new(names.into_iter().collect::<Vec<_>>())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Collie Online");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let pair = KeyPair::generate()?;
    let made = params.self_signed(&pair)?;
    let write = |path: &Path, text: &str| {
        private_files::put(path, text.as_bytes()).map_err(|source| TlsError::Io { path: path.to_owned(), source })
    };
    if let Some(directory) = key.parent() {
        private_files::make_directory(directory)
            .map_err(|source| TlsError::Io { path: directory.to_owned(), source })?;
    }
    let key_text = sign::Secret::new(pair.serialize_pem());
    // EXPOSE: to its own key file, mode 0600.
    key_text.with(|text| write(key, text))?;
    write(certificate, &made.pem())
}

fn load(certificate: &Path, key: &Path) -> Result<ServerTls, TlsError> {
    let chain = load_chain(certificate)?;
    let fingerprint = chain.first().map(fingerprint).ok_or_else(|| not_pem(certificate, "certificate"))?;
    let key_bytes = sign::Secret::new(read(key)?);
    // EXPOSE: to the TLS library, which needs it for every handshake.
    let key_der =
        key_bytes.with(|bytes| PrivateKeyDer::from_pem_slice(bytes)).map_err(|_| not_pem(key, "private key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(ServerTls { config: Arc::new(config), fingerprint })
}

fn load_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| not_pem(path, "certificate"))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Io { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > limits::CONFIG_BYTES_MAX as u64 {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "larger than a certificate chain should be")));
    }
    std::fs::read(path).map_err(failed)
}

fn not_pem(path: &Path, what: &'static str) -> TlsError {
    TlsError::NotPem { path: path.to_owned(), what }
}

fn fingerprint(leaf: &CertificateDer<'static>) -> Fingerprint {
    Fingerprint(Digest::of(&[leaf.as_ref()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin::parse("https://192.168.1.5:7420").expect("origin")
    }

    #[test]
    fn the_self_made_certificate_stays_and_its_key_is_private() {
        let directory = tempfile::tempdir().expect("directory");
        assert_eq!(find_fingerprint(&Tls::SelfMade, directory.path()).expect("nothing yet"), None);
        let first = open(&Tls::SelfMade, directory.path(), &origin()).expect("made").expect("TLS").fingerprint;
        let again = open(&Tls::SelfMade, directory.path(), &origin()).expect("read").expect("TLS").fingerprint;
        assert_eq!(first, again);
        assert_eq!(find_fingerprint(&Tls::SelfMade, directory.path()).expect("stands"), Some(first));
        assert!(private_files::read(&own_files(directory.path()).1, 4096).is_ok(), "mode 0600");
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (one, two) = (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
        for directory in [&one, &two] {
            open(&Tls::SelfMade, directory.path(), &origin()).expect("made");
        }
        let mixed = Tls::Files { certificate: own_files(one.path()).0, key: own_files(two.path()).1 };
        assert!(matches!(open(&mixed, one.path(), &origin()), Err(TlsError::Unusable(_))));
        let swapped = Tls::Files { certificate: own_files(one.path()).1, key: own_files(one.path()).0 };
        assert!(matches!(open(&swapped, one.path(), &origin()), Err(TlsError::NotPem { .. })));
    }
}
