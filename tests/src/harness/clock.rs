//! The service's clock in a test: the machine's, moved as the test says. Never runs backwards by itself.

use std::sync::atomic::{AtomicI64, Ordering};

/// The machine's clock with an offset.
#[derive(Debug, Default)]
pub struct TestClock {
    offset_ms: AtomicI64,
}

impl TestClock {
    /// Moves the clock by so many milliseconds.
    pub fn advance(&self, ms: i64) {
        self.offset_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Unix milliseconds.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the harness's one clock, which the service is given")]
    pub fn now(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        i64::try_from(since.as_millis()).expect("before the year 292 million") + self.offset_ms.load(Ordering::SeqCst)
    }
}

impl broker::Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.now()
    }
}
