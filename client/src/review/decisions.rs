//! A person's decisions as they are typed: `TOOL=EFFECT`, `TOOL.KIND=/pointer`, tools left out, effects that run without asking. A decision about something that is not there is an error, never ignored.

use super::{Basis, Draft};
use crate::error::CliError;
use contract::review::BindingKind;
use contract::{Effect, limits, text};

/// Decisions from flags.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Review")]
pub struct Decisions {
    /// Decide a tool's effect: observe, prepare, act, commit or restricted; repeat for several.
    #[arg(long, value_name = "TOOL=EFFECT")]
    pub effect: Vec<String>,
    /// Decide which arguments of a tool are recipients, account, target, amount, currency, url or content; repeat for several.
    #[arg(long, value_name = "TOOL.KIND=/POINTER,…")]
    pub binding: Vec<String>,
    /// Leave a tool out: nobody can call it; repeat for several.
    #[arg(long, value_name = "TOOL")]
    pub without: Vec<String>,
    /// Effects that run without asking: observe, prepare, act, or none.
    #[arg(long, value_name = "EFFECT,…", value_delimiter = ',')]
    pub allow: Vec<String>,
}

impl Decisions {
    /// Whether anything was decided.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.effect.is_empty() && self.binding.is_empty() && self.without.is_empty() && self.allow.is_empty()
    }
}

impl Draft {
    /// Takes decisions over, all of them or none.
    pub fn decide(&mut self, decisions: &Decisions) -> Result<(), CliError> {
        let mut next = self.clone();
        for name in &decisions.without {
            next.leave_out(name)?;
        }
        for said in &decisions.effect {
            next.decide_effect(said)?;
        }
        for said in &decisions.binding {
            next.decide_binding(said)?;
        }
        next.allow(&decisions.allow)?;
        *self = next;
        Ok(())
    }

    /// One line of a person at the terminal: `-TOOL`, `TOOL=EFFECT` or `TOOL.KIND=/pointer`.
    pub fn decide_line(&mut self, line: &str) -> Result<(), CliError> {
        match line.strip_prefix('-') {
            Some(name) => self.leave_out(name.trim()),
            None => match self.decide_effect(line) {
                Ok(()) => Ok(()),
                Err(error) => self.decide_binding(line).map_err(|_| error),
            },
        }
    }

    fn decide_effect(&mut self, said: &str) -> Result<(), CliError> {
        // A tool's name may hold `=`; an effect does not.
        let (name, word) = said.rsplit_once('=').ok_or_else(|| unreadable(said, "TOOL=EFFECT"))?;
        let effect = parse_effect(word)?;
        self.reinstate(name);
        let tool = self.tools.iter_mut().find(|tool| tool.name == name).ok_or_else(|| no_such_tool(name))?;
        tool.effect = effect;
        tool.basis = Basis::Decided;
        Ok(())
    }

    fn decide_binding(&mut self, said: &str) -> Result<(), CliError> {
        const FORM: &str = "TOOL.KIND=/POINTER";
        let (left, pointers) = said
            .split_once("=/")
            .map_or_else(
                || said.strip_suffix('=').map(|left| (left, String::new())),
                |(left, rest)| Some((left, format!("/{rest}"))),
            )
            .ok_or_else(|| unreadable(said, FORM))?;
        let (name, word) = left.rsplit_once('.').ok_or_else(|| unreadable(said, FORM))?;
        let kind = BindingKind::parse(word).ok_or_else(|| {
            let kinds = BindingKind::ALL.map(BindingKind::as_str).join(", ");
            CliError::usage(format!("`{word}` is no kind of argument")).hint(format!("one of {kinds}"))
        })?;
        let tool = self.tools.iter_mut().find(|tool| tool.name == name).ok_or_else(|| no_such_tool(name))?;
        let pointers: Vec<String> =
            pointers.split(',').filter(|pointer| !pointer.is_empty()).map(str::to_owned).collect();
        if let Some(bad) = pointers.iter().find(|pointer| !pointer.starts_with('/') || text::has_hidden(pointer)) {
            return Err(unreadable(bad, "a pointer such as /to"));
        }
        if pointers.len() > limits::BINDINGS_PER_TOOL_MAX {
            return Err(CliError::usage(format!("more than {} pointers", limits::BINDINGS_PER_TOOL_MAX)));
        }
        if pointers.is_empty() {
            tool.bindings.remove(&kind);
        } else {
            tool.bindings.insert(kind, pointers);
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str) -> Result<(), CliError> {
        if self.left_out.iter().any(|left| left == name) {
            return Ok(());
        }
        let at = self.tools.iter().position(|tool| tool.name == name).ok_or_else(|| no_such_tool(name))?;
        let tool = self.tools.remove(at);
        self.left_out.push(tool.name);
        self.left_out.sort();
        Ok(())
    }

    /// A tool that was left out comes back when a person decides its effect.
    fn reinstate(&mut self, name: &str) {
        let Some(at) = self.left_out.iter().position(|left| left == name) else { return };
        let Some(tool) = self.manifest.find_tool(name) else { return };
        self.left_out.remove(at);
        self.tools.push(super::propose_tool(name, tool, None));
        self.tools.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn allow(&mut self, words: &[String]) -> Result<(), CliError> {
        if words.is_empty() {
            return Ok(());
        }
        let mut effects = Vec::new();
        for word in words.iter().filter(|word| word.as_str() != "none") {
            let effect = parse_effect(word)?;
            if effect >= Effect::Commit {
                return Err(CliError::usage(format!("`{effect}` asks every time and cannot be allowed in advance"))
                    .hint("allow observe, prepare and act, or none"));
            }
            effects.push(effect);
        }
        effects.sort();
        effects.dedup();
        self.allowed_effects = effects;
        Ok(())
    }
}

fn parse_effect(word: &str) -> Result<Effect, CliError> {
    Effect::parse(word.trim()).ok_or_else(|| {
        CliError::usage(format!("`{word}` is no effect")).hint("one of observe, prepare, act, commit, restricted")
    })
}

fn unreadable(said: &str, form: &str) -> CliError {
    CliError::usage(format!("`{said}` is not of the form {form}"))
}

fn no_such_tool(name: &str) -> CliError {
    CliError::usage(format!("the server has no tool `{name}`"))
        .hint("names are exact; leave the flag out to see the tools")
}
