//! The one timer of outgoing exchanges: a total time that starts with the request and ends with the last byte. Never extended.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;

/// The end of one exchange.
pub(crate) struct Deadline(Pin<Box<Sleep>>);

impl Deadline {
    /// Starts to run now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one timer of this crate; its callers cap it by `contract::limits`"
    )]
    pub(crate) fn after(total: Duration) -> Self {
        Self(Box::pin(tokio::time::sleep(total)))
    }

    /// What `work` gives, or nothing if the deadline comes first.
    pub(crate) async fn race<F: Future>(&mut self, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            () = &mut self.0 => None,
            output = work => Some(output),
        }
    }
}
