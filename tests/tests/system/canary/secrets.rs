//! Every secret of a run: planted by the suite, or read from the private file or output that holds it.

use collie_tests::canary::{Canary, key_text_secrets};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Secrets by name, and the search for them.
#[derive(Default)]
pub(crate) struct Secrets {
    values: BTreeMap<String, Vec<u8>>,
    canary: Canary,
}

impl Secrets {
    /// Adds a secret; the same again is no second one.
    pub(crate) fn add(&mut self, name: &str, value: &[u8]) {
        if self.values.insert(name.to_owned(), value.to_vec()).is_none() {
            self.canary.add(name, value);
        }
    }

    /// Adds a token: its secret text, without the prefix that everybody knows and the family id in front of a refresh token's MAC, and the bytes that the text stands for.
    pub(crate) fn add_token(&mut self, name: &str, token: &str) {
        let known = ["collie_at_", "collie_rt_", "collie_bs_", "collie_dc_", "collie_ol_"];
        let rest = known.iter().find_map(|prefix| token.strip_prefix(prefix)).unwrap_or(token);
        let random = rest.rsplit('.').next().unwrap_or(rest);
        self.add(name, random.as_bytes());
        self.add(&format!("{name} bytes"), &contract::b64u::decode(random).expect("b64u"));
    }

    /// The search.
    pub(crate) fn canary(&self) -> &Canary {
        &self.canary
    }

    /// One secret.
    pub(crate) fn value(&self, name: &str) -> &[u8] {
        self.values.get(name).expect("a known secret")
    }

    /// What a device keeps in its private files now; `round` counts its logins.
    pub(crate) fn add_device(&mut self, device: &str, state_dir: &Path, round: usize) {
        let folder = service_folder(state_dir);
        let key = std::fs::read_to_string(folder.join("device.key")).expect("a device key");
        let seed = contract::b64u::decode(key.lines().nth(1).expect("a seed")).expect("b64u");
        self.add(&format!("{device} seed"), &seed);
        let sessions = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
        let session = sessions
            .into_iter()
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("session-")))
            .expect("a session");
        let text = std::fs::read_to_string(session).expect("a session");
        let mut lines = text.lines().skip(1);
        self.add_token(&format!("{device} access token {round}"), lines.next().expect("an access token"));
        self.add_token(&format!("{device} refresh token {round}"), lines.next().expect("a refresh token"));
    }

    /// What a waiting login keeps in its private file.
    pub(crate) fn add_pairing(&mut self, device: &str, state_dir: &Path) {
        let text = std::fs::read(service_folder(state_dir).join("pairing.json")).expect("a waiting pairing");
        let pairing: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for (field, name) in [("device_code", "device code"), ("verifier", "pairing verifier")] {
            self.add_token(&format!("{device} {name}"), pairing[field].as_str().expect("a text"));
        }
    }

    /// The text that `key-export` printed.
    pub(crate) fn add_key_text(&mut self, text: &str) {
        let [written, symbols, bytes] = key_text_secrets(text).expect("a key text");
        self.add("sealing key text", &written);
        self.add("sealing key symbols", &symbols);
        self.add("sealing key bytes", &bytes);
    }

    /// The text that `key-export --for-public-client` printed.
    pub(crate) fn add_public_key_text(&mut self, text: &str) {
        let random = text.trim().strip_prefix("collie-seal-v1:").expect("a key text");
        self.add("public client's key", random.as_bytes());
        self.add("public client's key bytes", &contract::b64u::decode(random).expect("b64u"));
    }
}

/// The one service a device of this suite knows.
fn service_folder(state_dir: &Path) -> PathBuf {
    let entries = std::fs::read_dir(state_dir.join("services")).expect("services").flatten();
    entries.map(|entry| entry.path()).find(|path| path.is_dir()).expect("one service")
}
