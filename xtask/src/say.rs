//! What a person reads: results on stdout, progress on stderr. Never prints an environment variable's value.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::process::Trouble;

/// A result, on stdout. A closed pipe is not an error worth a panic.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

/// Progress, on stderr, so that `demo --json` keeps stdout to itself.
pub(crate) fn note(text: &str) {
    eprintln!("xtask: {text}");
}

/// Two lines: what happened; what to do.
pub(crate) fn trouble(trouble: &Trouble) {
    eprintln!("error: {}\n  do: {}", trouble.what, trouble.then);
}

/// A stopwatch for the summary.
pub(crate) struct Watch(Instant);

impl Watch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "xtask shows how long a step took; nothing depends on it")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[expect(clippy::disallowed_methods, reason = "xtask shows how long a step took; nothing depends on it")]
    pub(crate) fn taken(&self) -> Duration {
        self.0.elapsed()
    }
}

/// `1 m 07 s`, `7.3 s`.
pub(crate) fn duration(taken: Duration) -> String {
    let seconds = taken.as_secs();
    if seconds >= 60 {
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    } else {
        format!("{:.1} s", taken.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(Duration::from_millis(7_310)), "7.3 s");
        assert_eq!(duration(Duration::from_secs(67)), "1 m 07 s");
    }
}
