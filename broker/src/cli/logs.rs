//! JSON lines on stderr. Other crates speak only from `warn` up, because at `trace` some of them print headers; a panic says where, never what.

use tracing::Level;
use tracing_subscriber::{EnvFilter, fmt::format::FmtSpan};

/// Our own crates, which keep the rule that a log line holds ids, words and numbers only.
const OURS: &[&str] = &["collie_broker", "collie_store", "collie_sign", "collie_contract"];

/// Starts logging, once for the process.
pub(super) fn start(level: Level) {
    let filter = OURS.iter().fold(String::from("warn"), |filter, ours| format!("{filter},{ours}={level}"));
    let started = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_events(FmtSpan::NONE)
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .try_init();
    // A second start in one process keeps the first one's log.
    drop(started);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| String::from("unknown"), ToString::to_string);
        tracing::error!(code = "panic", place, "a task panicked");
    }));
}
