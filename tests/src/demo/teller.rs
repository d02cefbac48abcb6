//! Tells and records at once: every command, decision and check goes to the person and into the report. Counts what a person typed and decided.

use super::report::{Chapter, Reader, Report};
use super::say::Say;
use super::world::World;
use crate::processes::{Device, Finished, line};
use crate::trouble::Trouble;
use serde_json::{Value, json};

/// The one who tells.
pub(super) struct Teller {
    say: Say,
    report: Report,
}

impl Teller {
    pub(super) fn new(say: Say) -> Self {
        Self { say, report: Report::default() }
    }

    /// What the story is about.
    pub(super) fn begin(&self, world: &World) {
        self.words(
            "One MCP connection, two devices, and a service in between that stores what it cannot read. Everything below is the released \
             programs, as processes of this machine; the demo types and clicks what a person would.",
        );
        self.words(&world.introduction());
    }

    /// A new chapter.
    pub(super) fn chapter(&mut self, title: &str) {
        self.report.chapters.push(Chapter { title: title.to_owned(), ..Chapter::default() });
        self.say.chapter(self.report.chapters.len(), title);
    }

    /// Words.
    pub(super) fn words(&self, text: &str) {
        self.say.words(text);
    }

    /// What a program printed, or a part of it.
    pub(super) fn output(&self, text: &str) {
        self.say.output(text);
    }

    /// Two columns.
    pub(super) fn beside(&self, left: (&str, &[String]), right: (&str, &[String])) {
        self.say.beside(left, right);
    }

    /// A command of a person, shown and counted; somebody else runs it.
    pub(super) fn typed(&mut self, place: &str, line: &str) {
        self.say.command(place, line);
        self.report.commands += 1;
        self.last().commands.push(format!("{place} $ {line}"));
    }

    /// A decision of a person, shown and counted.
    pub(super) fn decided(&mut self, what: &str) {
        self.say.act("you", what);
        self.report.decisions += 1;
        self.last().decisions.push(what.to_owned());
    }

    /// A check: `holds`, or the story ends here.
    pub(super) fn check(&mut self, holds: bool, what: &str) -> Result<(), Trouble> {
        if !holds {
            let title = self.last().title.clone();
            return Err(Trouble::new(
                format!("{title}: this does not hold: {what}"),
                "run it again with `--once` and read the output above; this is a defect",
            ));
        }
        self.say.checked(what);
        self.last().checked.push(what.to_owned());
        Ok(())
    }

    /// A fact for the document.
    pub(super) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.report.facts.insert(name.to_owned(), value.into());
    }

    /// Who could read what at the end of a chapter.
    pub(super) fn readers(&mut self, rows: &[(&str, &str)]) {
        let rows: Vec<(String, String)> =
            rows.iter().map(|(who, what)| ((*who).to_owned(), (*what).to_owned())).collect();
        self.say.readers(&rows);
        self.last().readers = rows.into_iter().map(|(who, what)| Reader { who, what }).collect();
    }

    /// Runs a command of a person on a device, shows both, and wants it to succeed.
    pub(super) fn run(&mut self, device: &Device, arguments: &[&str]) -> Result<Finished, Trouble> {
        self.run_shown(device, arguments, b"", &line(arguments))
    }

    /// The same with standard input, shown as `shown`.
    pub(super) fn run_shown(
        &mut self,
        device: &Device,
        arguments: &[&str],
        stdin: &[u8],
        shown: &str,
    ) -> Result<Finished, Trouble> {
        self.typed(device.name(), shown);
        let finished = device.run_with(arguments, stdin)?;
        self.output(&both(&finished));
        if finished.code == Some(0) {
            return Ok(finished);
        }
        let said = finished.err();
        Err(Trouble::new(
            format!("`{}` on {} ended with {:?}: {}", line(arguments), device.name(), finished.code, said.trim()),
            "read its hint; this is a defect of the demo or of the product",
        ))
    }

    /// Runs a command that has to be refused, shows what it says, and returns the exit code and the stable code.
    pub(super) fn refused(&mut self, device: &Device, arguments: &[&str]) -> Result<(i32, String), Trouble> {
        self.typed(device.name(), &line(arguments));
        // Once, since a refusal may narrow something: read as a document, shown as the two lines that a person sees.
        let (exit, error) = device.refusal(arguments)?;
        let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.output(&format!("Collie Online error: {}\nhint: {}", word("message"), word("hint")));
        Ok((exit, word("code")))
    }

    /// The end of the story.
    pub(super) fn finish(&mut self, world: &World) -> Result<(), Trouble> {
        self.chapter("What it took");
        let (commands, decisions) = (self.report.commands, self.report.decisions);
        self.words(&format!(
            "{commands} commands and {decisions} decisions of a person, in {}. No decision was made for you: each one above was typed or clicked.",
            world.taken()
        ));
        self.report.ok = true;
        self.print_document();
        Ok(())
    }

    /// The story ends early.
    pub(super) fn fail(&mut self, trouble: &Trouble) {
        self.say.trouble(trouble);
        self.report.ok = false;
        self.report.error = Some(json!({"what": trouble.what, "then": trouble.then}));
        self.print_document();
    }

    /// What to try by hand.
    pub(super) fn show_what_next(&self, world: &World) {
        for line in world.what_next() {
            self.say.plain(&line);
        }
    }

    fn print_document(&self) {
        self.say.document(&serde_json::to_value(&self.report).unwrap_or_default());
    }

    fn last(&mut self) -> &mut Chapter {
        if self.report.chapters.is_empty() {
            self.report.chapters.push(Chapter::default());
        }
        self.report.chapters.last_mut().expect("one was pushed if there was none")
    }
}

/// Both outputs, as a terminal shows them.
fn both(finished: &Finished) -> String {
    format!("{}{}", finished.out(), finished.err())
}
