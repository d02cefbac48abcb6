//! The session's tokens in their file, one for each workspace. Read again for every request, so that another process's rotation is seen; replaced atomically under a lock.

use super::ServiceDir;
use super::files::{self, FileLock};
use crate::error::CliError;
use contract::ids::WorkspaceId;
use contract::session::Tokens;
use contract::{Code, Digest};
use sign::Secret;
use zeroize::Zeroizing;

/// First line of the file.
const HEAD: &str = "collie-session-v1";

/// The start of the names of session files.
pub const SESSION: &str = "session-";

/// The tokens of one workspace's session.
pub struct Session {
    /// What requests carry.
    pub access: Secret<String>,
    /// What is exchanged for the next pair.
    pub refresh: Secret<String>,
    /// Unix seconds by the service's clock.
    pub access_expires_at: u64,
    /// Unix seconds by the service's clock.
    pub refresh_expires_at: u64,
}

impl Session {
    /// Takes issued tokens into custody. Tokens that could not be sent again are refused.
    pub fn new(tokens: Tokens) -> Result<Self, CliError> {
        let fine = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !fine(&tokens.access_token) || !fine(&tokens.refresh_token) {
            return Err(CliError::new(Code::Unavailable, "the service issued tokens that cannot be used"));
        }
        Ok(Self {
            access: Secret::new(tokens.access_token),
            refresh: Secret::new(tokens.refresh_token),
            access_expires_at: tokens.access_expires_at,
            refresh_expires_at: tokens.refresh_expires_at,
        })
    }

    /// Names this pair without telling it.
    #[must_use]
    pub fn name(&self) -> Digest {
        // EXPOSE: to a hash of 256 random bits, which stays in memory.
        self.access.with(|access| Digest::of(&[access.as_bytes()]))
    }

    fn text(&self) -> Zeroizing<Vec<u8>> {
        // EXPOSE: to the device's own session file.
        self.access.with(|access| {
            self.refresh.with(|refresh| {
                let text =
                    format!("{HEAD}\n{access}\n{refresh}\n{}\n{}\n", self.access_expires_at, self.refresh_expires_at);
                Zeroizing::new(text.into_bytes())
            })
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        (lines.next()? == HEAD).then_some(())?;
        let tokens = Tokens {
            access_token: lines.next()?.to_owned(),
            refresh_token: lines.next()?.to_owned(),
            access_expires_at: lines.next()?.parse().ok()?,
            refresh_expires_at: lines.next()?.parse().ok()?,
        };
        Self::new(tokens).ok().filter(|_| lines.next().is_none())
    }
}

impl ServiceDir {
    /// The session in a workspace, if there is one.
    pub fn find_session(&self, workspace: &WorkspaceId) -> Result<Option<Session>, CliError> {
        let path = self.file(&format!("{SESSION}{workspace}"));
        let Some(bytes) = files::read_secret(&path)? else { return Ok(None) };
        Session::parse(&bytes).map(Some).ok_or_else(|| {
            CliError::new(Code::SessionRequired, format!("{} is damaged", path.display()))
                .hint("run `collie online login --replace` to connect this device again")
        })
    }

    /// Stores the session of a workspace in place of the one before.
    pub fn store_session(&self, workspace: &WorkspaceId, session: &Session) -> Result<(), CliError> {
        self.make()?;
        files::replace(&self.file(&format!("{SESSION}{workspace}")), &session.text(), self.nonce())
    }

    /// Removes the sessions of all workspaces.
    pub fn remove_sessions(&self) -> Result<(), CliError> {
        let Ok(entries) = std::fs::read_dir(self.path()) else { return Ok(()) };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(SESSION) {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Waits until this process alone may rotate tokens here.
    pub async fn lock_tokens(&self) -> Result<FileLock, CliError> {
        let path = self.file("tokens.lock");
        let waited = tokio::task::spawn_blocking(move || FileLock::wait(&path)).await;
        waited.map_err(|error| CliError::internal(format!("waiting for the token lock: {error}")))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Door;
    use crate::state::StateDir;

    fn tokens(access: &str) -> Tokens {
        Tokens {
            access_token: access.into(),
            refresh_token: "collie_rt_x".into(),
            access_expires_at: 5,
            refresh_expires_at: 9,
        }
    }

    #[test]
    fn a_session_is_kept_per_workspace_and_removed_with_all_others() {
        let root = tempfile::tempdir().expect("a folder");
        let service = StateDir::new(Some(root.path()), Door).expect("a state folder").service("http://127.0.0.1:1");
        let (one, two) = (WorkspaceId::parse("ws_1").expect("an id"), WorkspaceId::parse("ws_2").expect("an id"));
        assert!(service.find_session(&one).expect("looks").is_none());
        for (workspace, access) in [(&one, "collie_at_1"), (&two, "collie_at_2")] {
            service.store_session(workspace, &Session::new(tokens(access)).expect("fine")).expect("stores");
        }
        let found = service.find_session(&one).expect("looks").expect("is there");
        assert!(found.access.with(|text| text == "collie_at_1"));
        assert_eq!((found.access_expires_at, found.refresh_expires_at), (5, 9));
        service.remove_sessions().expect("removes");
        assert!(service.find_session(&two).expect("looks").is_none());
    }

    #[test]
    fn tokens_that_would_break_the_file_are_refused() {
        for bad in ["", "a\nb", "a b", "é"] {
            assert!(Session::new(tokens(bad)).is_err(), "{bad:?}");
        }
    }
}
