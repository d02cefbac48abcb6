//! Keeps the sealing key and the copy of one account from another's at the same service: they are set aside under the account's id and taken back when it returns. Never mixes, never deletes.

use super::ServiceDir;
use super::files;
use super::sealing_key::SEALING_KEY;
use crate::error::CliError;
use contract::ids::UserId;
use std::path::Path;

/// What belongs to an account, not to the device.
const OF_ACCOUNT: &[&str] = &[SEALING_KEY, "collie.db", "collie.db-wal", "collie.db-shm"];

impl ServiceDir {
    /// Makes room for `next` when `last` was another account.
    pub fn keep_accounts_apart(&self, last: Option<&UserId>, next: &UserId) -> Result<(), CliError> {
        let Some(last) = last.filter(|last| *last != next) else { return Ok(()) };
        let aside = |user: &UserId| self.file("accounts").join(format!("of-{user}"));
        files::make_dir(&aside(last))?;
        self.move_account(self.path(), &aside(last))?;
        self.move_account(&aside(next), self.path())
    }

    fn move_account(&self, from: &Path, to: &Path) -> Result<(), CliError> {
        for name in OF_ACCOUNT {
            let source = from.join(name);
            if source.exists() {
                std::fs::rename(&source, to.join(name))
                    .map_err(|error| CliError::internal(format!("cannot move {}: {error}", source.display())))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Door;
    use crate::state::StateDir;

    #[test]
    fn two_accounts_never_meet_and_come_back_whole() {
        let root = tempfile::tempdir().expect("a folder");
        let service = StateDir::new(Some(root.path()), Door).expect("a state folder").service("http://127.0.0.1:1");
        let (ann, bob) = (UserId::parse("usr_a").expect("an id"), UserId::parse("usr_b").expect("an id"));
        service.make().expect("makes");
        let key = service.file(SEALING_KEY);
        std::fs::write(&key, "ann").expect("writes");
        service.keep_accounts_apart(Some(&ann), &ann).expect("same account");
        assert_eq!(std::fs::read_to_string(&key).expect("reads"), "ann");
        service.keep_accounts_apart(Some(&ann), &bob).expect("another account");
        assert!(!key.exists());
        std::fs::write(&key, "bob").expect("writes");
        service.keep_accounts_apart(Some(&bob), &ann).expect("back");
        assert_eq!(std::fs::read_to_string(&key).expect("reads"), "ann");
        service.keep_accounts_apart(Some(&ann), &bob).expect("and again");
        assert_eq!(std::fs::read_to_string(&key).expect("reads"), "bob");
    }
}
