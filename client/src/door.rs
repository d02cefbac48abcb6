//! The one place of the device's side where time, chance and the process's environment enter. Everything else takes them as values.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time and chance, handed to commands with [`crate::app::App`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Door;

/// The longest pause a caller may ask for, seconds.
pub const PAUSE_S_MAX: u64 = 10;

impl Door {
    /// Now, Unix milliseconds.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place where the device reads its clock")]
    pub fn now_ms(self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Now, Unix seconds.
    #[must_use]
    pub fn now_s(self) -> u64 {
        self.now_ms() / 1000
    }

    /// Fresh random bytes of the system.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place where chance enters the device's side")]
    pub fn random<const N: usize>(self) -> [u8; N] {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes).expect("the system's random source answers");
        bytes
    }

    /// Waits between two polls, at most [`PAUSE_S_MAX`] seconds.
    #[expect(clippy::disallowed_methods, reason = "the one timer of the device's side: a pairing is polled")]
    pub async fn pause(self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds.min(PAUSE_S_MAX))).await;
    }

    /// A variable of the environment, when it is text and not empty.
    #[must_use]
    pub fn variable(self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}
