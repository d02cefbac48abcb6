//! The demo's one printer: words for people on standard output, or with `--json` only the document there and a line of progress per chapter on standard error.

use std::io::{IsTerminal as _, Write as _};

/// How this run prints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Say {
    json: bool,
    brief: bool,
    color: bool,
}

/// Columns of a line of words.
const WIDTH: usize = 100;

/// Lines of a program's output that are shown; the rest is counted.
const OUTPUT_LINES_MAX: usize = 60;

impl Say {
    pub(super) fn new(json: bool, brief: bool) -> Self {
        let color = !json && std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { json, brief, color }
    }

    /// The start of a chapter.
    pub(super) fn chapter(self, number: usize, title: &str) {
        if self.json || self.brief {
            err(&format!("{number:>2}  {title}"));
        } else {
            out(&format!("\n{}", self.paint("1;36", &format!("{number}. {title}"))));
        }
    }

    /// Words.
    pub(super) fn words(self, text: &str) {
        if self.tells() {
            wrap(text, WIDTH - 3).iter().for_each(|line| out(&format!("   {line}")));
        }
    }

    /// A command, as a person types it.
    pub(super) fn command(self, place: &str, line: &str) {
        if self.tells() {
            out(&format!("   {} {}", self.paint("2", &format!("{place} $")), self.paint("1", line)));
        }
    }

    /// Something a person does that is no command.
    pub(super) fn act(self, who: &str, what: &str) {
        if self.tells() {
            out(&format!("   {} {what}", self.paint("1;33", &format!("{who}:"))));
        }
    }

    /// What a program printed.
    pub(super) fn output(self, text: &str) {
        if !self.tells() {
            return;
        }
        let bar = self.paint("2", "│");
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines.iter().take(OUTPUT_LINES_MAX).for_each(|line| out(&format!("     {bar} {line}")));
        if let Some(more @ 1..) = lines.len().checked_sub(OUTPUT_LINES_MAX) {
            out(&format!("     {bar} … and {more} lines more"));
        }
    }

    /// A fact that the demo checked.
    pub(super) fn checked(self, text: &str) {
        if self.tells() {
            let lines = wrap(text, WIDTH - 5);
            let mark = self.paint("32", "✓");
            lines
                .iter()
                .enumerate()
                .for_each(|(at, line)| out(&format!("   {} {line}", if at == 0 { mark.as_str() } else { " " })));
        }
    }

    /// Two columns, side by side.
    pub(super) fn beside(self, left: (&str, &[String]), right: (&str, &[String])) {
        if !self.tells() {
            return;
        }
        let width = WIDTH / 2 - 4;
        let head = |title: &str| self.paint("1", &format!("{title:<width$}"));
        out(&format!("   {} │ {}", head(left.0), head(right.0)));
        for at in 0..left.1.len().max(right.1.len()) {
            let cell = |lines: &[String]| shorten(lines.get(at).map_or("", String::as_str), width);
            out(&format!("   {:<width$} │ {}", cell(left.1), cell(right.1)));
        }
    }

    /// Who could read what now.
    pub(super) fn readers(self, rows: &[(String, String)]) {
        if !self.tells() {
            return;
        }
        out(&format!("   {}", self.paint("1", "Who could read what, at this point:")));
        let width = rows.iter().map(|(who, _)| who.chars().count()).max().unwrap_or_default();
        for (who, what) in rows {
            for (at, line) in wrap(what, WIDTH - width - 7).iter().enumerate() {
                out(&format!("     {:<width$}  {line}", if at == 0 { who.as_str() } else { "" }));
            }
        }
    }

    /// A line as it is, told also when little is told.
    pub(super) fn plain(self, line: &str) {
        if !self.json {
            out(line);
        }
    }

    /// The one document.
    pub(super) fn document(self, document: &serde_json::Value) {
        if self.json {
            out(&document.to_string());
        }
    }

    /// Two lines: what happened, what to do.
    pub(super) fn trouble(self, trouble: &crate::trouble::Trouble) {
        err(&format!("{} {}\n  do: {}", self.paint("1;31", "error:"), trouble.what, trouble.then));
    }

    fn tells(self) -> bool {
        !self.json && !self.brief
    }

    fn paint(self, color: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{color}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Breaks words into lines.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line =
            lines.last_mut().filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The start of a text that is too long for its place.
pub(super) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

// A closed pipe is no reason to leave processes behind: the story goes on to its end.
fn out(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn err(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrap("", 6), [""]);
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
    }
}
