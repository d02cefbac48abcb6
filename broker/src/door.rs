//! The service's one clock and its one source of randomness; everything below takes them as parameters. Keeps nothing.

use sign::Secret;

/// Tells the time. Tests bring their own; the product has [`SystemClock`].
pub trait Clock: Send + Sync + 'static {
    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the service's one place that reads the clock")]
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The machine gave no randomness; nothing may be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random source failed")]
pub struct RandomError;

/// Fresh bytes from the system's random source.
#[expect(clippy::disallowed_methods, reason = "the service's one place that takes randomness")]
pub(crate) fn make_random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(bytes)
}

/// Fills a buffer that somebody else keeps.
#[expect(clippy::disallowed_methods, reason = "the service's one place that takes randomness")]
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<(), RandomError> {
    getrandom::fill(bytes).map_err(|_| RandomError)
}

/// 32 fresh bytes, written where they stay.
#[expect(clippy::disallowed_methods, reason = "the service's one place that takes randomness")]
pub(crate) fn make_secret() -> Result<Secret<[u8; 32]>, RandomError> {
    let mut filled = Ok(());
    let secret = Secret::init(|bytes: &mut [u8; 32]| filled = getrandom::fill(bytes));
    filled.map(|()| secret).map_err(|_| RandomError)
}

/// Unix seconds for the wire; a clock before 1970 reads as 0.
#[must_use]
pub(crate) fn wire_seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1000).unwrap_or(0)
}

/// A named maximum in seconds as milliseconds.
#[must_use]
pub(crate) fn ms(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}
