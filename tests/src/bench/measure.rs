//! A number, its unit and its bound; the table of all of them; and the one stopwatch. A bound is judged, a number alone is only shown.

use serde_json::{Value, json};
use std::io::Write as _;
use std::time::{Duration, Instant};

/// What a number has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    /// Shown only.
    None,
    /// Not more.
    AtMost(f64),
    /// Not less.
    AtLeast(f64),
}

/// One measure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) bound: Bound,
}

impl Measure {
    pub(super) const fn new(name: &'static str, value: f64, unit: &'static str, bound: Bound) -> Self {
        Self { name, value, unit, bound }
    }

    fn is_met(&self) -> bool {
        match self.bound {
            Bound::None => true,
            Bound::AtMost(most) => self.value <= most,
            Bound::AtLeast(least) => self.value >= least,
        }
    }

    fn bound_words(&self) -> String {
        match self.bound {
            Bound::None => String::new(),
            Bound::AtMost(most) => format!("≤ {most}"),
            Bound::AtLeast(least) => format!("≥ {least}"),
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.bound, self.is_met()) {
            (Bound::None, _) => "",
            (_, true) => "met",
            (_, false) => "NOT MET",
        }
    }
}

/// Whether this build's numbers may be judged.
const JUDGED: bool = !cfg!(debug_assertions);

/// All measures.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Measure>);

impl Table {
    pub(super) fn add(&mut self, measures: Vec<Measure>) {
        self.0.extend(measures);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every bound is met. In a debug build nothing is judged, and the table says so.
    pub(super) fn is_met(&self) -> bool {
        !JUDGED || self.0.iter().all(Measure::is_met)
    }

    pub(super) fn print(&self, as_json: bool) {
        if as_json {
            out(&self.document().to_string());
            return;
        }
        out(&format!("{:<44} {:>12}  {:<11} {:<10}", "measure", "value", "unit", "bound"));
        for measure in &self.0 {
            let (bound, verdict) = (measure.bound_words(), measure.verdict());
            out(&format!("{:<44} {:>12.2}  {:<11} {bound:<10} {verdict}", measure.name, measure.value, measure.unit));
        }
        if !JUDGED {
            out("debug build: no bound is judged; run `cargo xtask bench`");
        }
    }

    fn document(&self) -> Value {
        let measures = self.0.iter().map(|measure| {
            let (most, least) = match measure.bound {
                Bound::None => (None, None),
                Bound::AtMost(most) => (Some(most), None),
                Bound::AtLeast(least) => (None, Some(least)),
            };
            json!({"name": measure.name, "value": measure.value, "unit": measure.unit, "at_most": most, "at_least": least, "met": measure.is_met()})
        });
        json!({"ok": self.is_met(), "judged": JUDGED, "measures": measures.collect::<Vec<_>>()})
    }
}

/// Time that `body` takes.
#[expect(clippy::disallowed_methods, reason = "the bench is there to measure time; this is its one stopwatch")]
pub(super) fn timed<T>(body: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let value = body();
    (began.elapsed(), value)
}

/// The middle one; of an even number the greater of the two.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Milliseconds.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// How many per second.
pub(super) fn per_second(count: usize, taken: Duration) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from) / taken.as_secs_f64()
}

/// Progress, on standard error.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn out(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_judged_from_both_sides() {
        let measure = |value, bound| Measure::new("x", value, "ms", bound).is_met();
        assert!(measure(300.0, Bound::AtMost(300.0)) && !measure(300.1, Bound::AtMost(300.0)));
        assert!(measure(2.0, Bound::AtLeast(2.0)) && !measure(1.9, Bound::AtLeast(2.0)));
        assert!(measure(f64::MAX, Bound::None) && !measure(f64::NAN, Bound::AtMost(1.0)));
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(vec![4.0, 1.0]), 4.0);
    }
}
