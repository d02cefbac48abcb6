//! The one place a lab's changing state lives, and the commands that change it. Never speaks HTTP.

use crate::credential::Credential;
use crate::fault::{self, Fault, FaultRule};
use crate::limits;
use crate::notes::{Notes, Ran};
use crate::seen::{Seen, SeenRequest, Stray, add_one};
use crate::switches::Switches;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// One change of a running lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Sets these fields of [`Switches`], leaves the others.
    Set(Map<String, Value>),
    /// Arms a fault, after those armed before.
    Fault(FaultRule),
    /// Disarms all faults.
    ClearFaults,
    /// Back to the switches of the start, with no fault armed.
    Reset,
    /// Answers every request that hangs now.
    Release,
    /// Ends every session (2025-11-25) without telling anybody.
    ForgetSessions,
    /// Forgets counts, requests, strays and messages; notes stay.
    ForgetSeen,
}

/// What a lab does now.
#[derive(Clone, Debug, Serialize)]
pub struct Behaviour {
    /// Lasting behaviour.
    pub switches: Switches,
    /// Armed faults, in the order in which they strike.
    pub faults: Vec<FaultRule>,
}

/// A command the lab did not follow; nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The switches would not be readable.
    #[error("switches are not valid: {0}")]
    Switches(#[from] serde_json::Error),
    /// The fault passes one of the lab's own maxima.
    #[error("fault is outside the lab's bounds")]
    FaultOutOfBounds,
    /// Too many faults are armed.
    #[error("more than {} faults", limits::FAULTS_MAX)]
    TooManyFaults,
}

/// State shared by all requests of one lab.
pub(crate) struct Shared {
    pub(crate) credential: Credential,
    pub(crate) control_token: String,
    pub(crate) other_url: String,
    inner: Mutex<Inner>,
    /// Counts changes, for those who wait for one.
    changed: watch::Sender<u64>,
    /// Counts releases, for requests that hang.
    released: watch::Sender<u64>,
}

struct Inner {
    at_start: Switches,
    behaviour: Behaviour,
    seen: Seen,
    notes: Notes,
    /// Open sessions, and whether each has been told `initialized`.
    sessions: BTreeMap<String, bool>,
    request_states: BTreeSet<String>,
}

/// What a session knows of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    Unknown,
    Opening,
    Open,
}

impl Shared {
    pub(crate) fn new(credential: Credential, control_token: String, other_url: String, switches: Switches) -> Shared {
        let notes = Notes::new();
        let seen = Seen { notes: notes.names(), ..Seen::default() };
        let behaviour = Behaviour { switches: switches.clone(), faults: Vec::new() };
        let (sessions, request_states) = (BTreeMap::new(), BTreeSet::new());
        let inner = Inner { at_start: switches, behaviour, seen, notes, sessions, request_states };
        Shared {
            credential,
            control_token,
            other_url,
            inner: Mutex::new(inner),
            changed: watch::Sender::new(0),
            released: watch::Sender::new(0),
        }
    }

    /// Follows one command, wholly or not at all.
    pub(crate) fn control(&self, command: Command) -> Result<Behaviour, CommandError> {
        let mut inner = self.lock();
        match command {
            Command::Set(fields) => inner.behaviour.switches = merged(&inner.behaviour.switches, fields)?,
            Command::Fault(rule) => {
                if !rule.is_bounded() {
                    return Err(CommandError::FaultOutOfBounds);
                }
                if let Fault::Change { set } = &rule.kind {
                    merged(&inner.behaviour.switches, set.clone())?;
                }
                if inner.behaviour.faults.len() >= limits::FAULTS_MAX {
                    return Err(CommandError::TooManyFaults);
                }
                inner.behaviour.faults.push(rule);
            }
            Command::ClearFaults => inner.behaviour.faults.clear(),
            Command::Reset => {
                inner.behaviour = Behaviour { switches: inner.at_start.clone(), faults: Vec::new() };
            }
            Command::Release => self.released.send_modify(|count| *count += 1),
            Command::ForgetSessions => {
                inner.sessions.clear();
                inner.seen.sessions = 0;
            }
            Command::ForgetSeen => {
                let (notes, sessions) = (inner.notes.names(), inner.sessions.len());
                inner.seen = Seen { notes, sessions, hanging: inner.seen.hanging, ..Seen::default() };
            }
        }
        let behaviour = inner.behaviour.clone();
        drop(inner);
        self.tell();
        Ok(behaviour)
    }

    pub(crate) fn switch(&self, change: impl FnOnce(&mut Switches)) {
        change(&mut self.lock().behaviour.switches);
        self.tell();
    }

    pub(crate) fn switches(&self) -> Switches {
        self.lock().behaviour.switches.clone()
    }

    pub(crate) fn seen(&self) -> Seen {
        self.lock().seen.clone()
    }

    /// Waits until what was seen satisfies `wanted`.
    pub(crate) async fn wait_until(&self, wanted: impl Fn(&Seen) -> bool) {
        let mut changes = self.changed.subscribe();
        while !wanted(&self.lock().seen) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Hangs until the next release.
    pub(crate) async fn hang(&self) {
        let mut releases = self.released.subscribe();
        let _counted = Hanging::new(self);
        // An error would mean that the lab is gone; then there is nobody to answer.
        let _ = releases.changed().await;
    }

    pub(crate) fn record_request(&self, request: SeenRequest) {
        self.update(|inner| inner.seen.push_request(request));
    }

    pub(crate) fn record_stray(&self, stray: Stray) {
        self.update(|inner| inner.seen.push_stray(stray));
    }

    pub(crate) fn count_refused(&self) {
        self.update(|inner| inner.seen.counts.refused += 1);
    }

    pub(crate) fn count_invalid(&self) {
        self.update(|inner| inner.seen.counts.invalid += 1);
    }

    /// Counts an admitted request and takes the fault that strikes it.
    pub(crate) fn admit(&self, method: &str, tool: Option<&str>) -> Option<Fault> {
        self.update(|inner| {
            add_one(&mut inner.seen.counts.requests, method);
            if let Some(tool) = tool {
                add_one(&mut inner.seen.counts.calls, tool);
            }
            let struck = fault::take(&mut inner.behaviour.faults, method, tool);
            if let Some(Fault::Change { set }) = &struck {
                // It was read once when it was armed; switches since then cannot make it unreadable.
                if let Ok(switches) = merged(&inner.behaviour.switches, set.clone()) {
                    inner.behaviour.switches = switches;
                }
            }
            struck
        })
    }

    pub(crate) fn run(&self, tool: &str, arguments: &Value) -> Ran {
        self.update(|inner| inner.notes.run(tool, arguments, &mut inner.seen))
    }

    /// Opens a session; `None` if too many are open.
    pub(crate) fn open_session(&self) -> Option<String> {
        let id = make_token();
        self.update(|inner| {
            if inner.sessions.len() >= limits::SESSIONS_MAX {
                return None;
            }
            inner.sessions.insert(id.clone(), false);
            inner.seen.sessions = inner.sessions.len();
            Some(id)
        })
    }

    pub(crate) fn find_session(&self, id: &str) -> Session {
        match self.lock().sessions.get(id) {
            None => Session::Unknown,
            Some(false) => Session::Opening,
            Some(true) => Session::Open,
        }
    }

    pub(crate) fn confirm_session(&self, id: &str) {
        if let Some(confirmed) = self.lock().sessions.get_mut(id) {
            *confirmed = true;
        }
    }

    pub(crate) fn close_session(&self, id: &str) -> bool {
        self.update(|inner| {
            let was_open = inner.sessions.remove(id).is_some();
            inner.seen.sessions = inner.sessions.len();
            was_open
        })
    }

    /// Hands out a request state that is good for one return.
    pub(crate) fn make_request_state(&self) -> String {
        let state = make_token();
        let mut inner = self.lock();
        if inner.request_states.len() >= limits::REQUEST_STATES_MAX {
            inner.request_states.clear();
        }
        inner.request_states.insert(state.clone());
        state
    }

    /// Whether this state was handed out and comes back for the first time.
    pub(crate) fn redeem_request_state(&self, state: &str) -> bool {
        self.lock().request_states.remove(state)
    }

    fn update<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let answer = change(&mut self.lock());
        self.tell();
        answer
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves counts at worst one short, which is no reason to stop serving.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one hanging request for as long as it hangs, also if its connection goes away.
struct Hanging<'a>(&'a Shared);

impl<'a> Hanging<'a> {
    fn new(shared: &'a Shared) -> Hanging<'a> {
        shared.update(|inner| inner.seen.hanging += 1);
        Hanging(shared)
    }
}

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.update(|inner| inner.seen.hanging = inner.seen.hanging.saturating_sub(1));
    }
}

/// 32 random hexadecimal digits.
#[expect(clippy::disallowed_methods, reason = "the lab stands outside the product and is its own door")]
pub(crate) fn make_token() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn merged(switches: &Switches, fields: Map<String, Value>) -> Result<Switches, serde_json::Error> {
    let mut whole = serde_json::to_value(switches)?;
    if let Value::Object(members) = &mut whole {
        members.extend(fields);
    }
    serde_json::from_value(whole)
}
