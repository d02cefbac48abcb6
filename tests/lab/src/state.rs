//! The one place a lab's changing state lives, and the commands that change it. Never speaks HTTP.

use crate::credential::{Credential, Presented};
use crate::fault::{self, Fault, FaultRule};
use crate::limits;
use crate::notes::{Notes, Ran};
use crate::oauth::{self, Addresses, Bench, GivenClient, Judged, Ledger, SeenOAuth, Site, Work};
use crate::seen::{Seen, SeenRequest, Stray, add_one};
use crate::switches::Switches;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
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
    /// Tells an authorization server of a client, as a person registers one by hand.
    AddClient(GivenClient),
    /// Puts the clock of codes and tokens ahead by so many seconds.
    AdvanceS(u64),
    /// Every access token that is out is too old from now on, whatever was said of its life.
    ExpireAccess,
    /// Ends every grant, as if the person had taken all consents back at the provider.
    EndGrants,
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
    /// The clock would be too far ahead.
    #[error("more than {} seconds ahead", limits::AHEAD_S_MAX)]
    TooFarAhead,
}

/// State shared by all requests of one lab.
pub(crate) struct Shared {
    pub(crate) credential: Credential,
    pub(crate) control_token: String,
    pub(crate) other_url: String,
    pub(crate) addresses: Addresses,
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
    /// What the first and the second authorization server remember.
    ledgers: [Ledger; 2],
    /// How far the clock of tokens is ahead, in seconds.
    ahead_s: u64,
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
        let (ledgers, ahead_s) = (<[Ledger; 2]>::default(), 0);
        let inner = Inner { at_start: switches, behaviour, seen, notes, sessions, request_states, ledgers, ahead_s };
        Shared {
            credential,
            control_token,
            other_url,
            addresses: Addresses::default(),
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
            Command::AddClient(given) => {
                let [first, second] = &mut inner.ledgers;
                let ledger = if given.second { second } else { first };
                ledger.clients.insert(given.client_id.clone(), given.into());
            }
            Command::AdvanceS(seconds) => {
                let ahead_s = inner.ahead_s.saturating_add(seconds);
                if ahead_s > limits::AHEAD_S_MAX {
                    return Err(CommandError::TooFarAhead);
                }
                inner.ahead_s = ahead_s;
            }
            Command::ExpireAccess => inner.ledgers.iter_mut().for_each(Ledger::expire_access),
            Command::EndGrants => inner.ledgers.iter_mut().for_each(Ledger::end_all),
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

    /// Takes the fault that strikes a request to an authorization server.
    pub(crate) fn strike(&self, endpoint: &str, kind: Option<&str>) -> Option<Fault> {
        self.update(|inner| inner.strike(endpoint, kind))
    }

    /// Does one request's work at an authorization server, and its record, in one step that nobody sees half of.
    pub(crate) fn with_oauth<T>(&self, site: Site, entry: SeenOAuth, act: impl FnOnce(&mut Work<'_>) -> T) -> T {
        self.update(|inner| {
            let now_s = now_s().saturating_add(inner.ahead_s);
            let switches = inner.behaviour.switches.oauth.clone();
            let [first, second] = &mut inner.ledgers;
            let (ledger, other) = if site == Site::Second { (second, &*first) } else { (first, &*second) };
            let (addresses, elsewhere) = (&self.addresses, self.other_url.as_str());
            let counts = &mut inner.seen.oauth.counts;
            let mut work =
                Work { ledger, other, switches: &switches, addresses, elsewhere, site, now_s, counts, entry };
            let answer = act(&mut work);
            let entry = work.entry;
            inner.seen.oauth.push(entry);
            answer
        })
    }

    /// The issuer of the server at `site`, as it is now.
    pub(crate) fn issuer(&self, site: Site) -> String {
        oauth::issuer(&self.lock().behaviour.switches.oauth, &self.addresses, site)
    }

    /// Remembers, or forgets, the client that a document describes.
    pub(crate) fn put_client(&self, site: Site, client_id: &str, client: Option<oauth::Client>) {
        let mut inner = self.lock();
        let [first, second] = &mut inner.ledgers;
        let ledger = if site == Site::Second { second } else { first };
        match client {
            Some(client) => drop(ledger.clients.insert(client_id.to_owned(), client)),
            None => drop(ledger.clients.remove(client_id)),
        }
    }

    /// What the access token of a request is worth; `None` where the lab asks for none.
    pub(crate) fn judge_token(&self, headers: &HeaderMap, path: &str, tool: Option<&str>) -> Option<Judged> {
        let Credential::OAuth = self.credential else { return None };
        let inner = self.lock();
        let [first, second] = &inner.ledgers;
        let now_s = now_s().saturating_add(inner.ahead_s);
        let bench = Bench { first, second, switches: &inner.behaviour.switches.oauth, now_s };
        let resource = format!("{}{path}", self.addresses.resource);
        Some(oauth::judge(&bench, self.credential.given(headers).as_deref(), &resource, tool))
    }

    /// What a request to nowhere presents, and whether `text` carries a secret of an authorization server.
    pub(crate) fn judge_stray(&self, headers: &HeaderMap, text: &str) -> (Presented, bool) {
        let inner = self.lock();
        let carries = |text: &str| inner.ledgers.iter().any(|ledger| ledger.is_secret_in(text));
        let presented = match (&self.credential, self.credential.given(headers)) {
            (Credential::OAuth, Some(given)) if carries(&given) => Presented::Right,
            _ => self.credential.judge(headers),
        };
        (presented, carries(text))
    }

    /// Counts an admitted request and takes the fault that strikes it.
    pub(crate) fn admit(&self, method: &str, tool: Option<&str>) -> Option<Fault> {
        self.update(|inner| {
            add_one(&mut inner.seen.counts.requests, method);
            if let Some(tool) = tool {
                add_one(&mut inner.seen.counts.calls, tool);
            }
            inner.strike(method, tool)
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

impl Inner {
    /// Takes the fault that strikes this request; a change of the switches happens now.
    fn strike(&mut self, method: &str, tool: Option<&str>) -> Option<Fault> {
        let struck = fault::take(&mut self.behaviour.faults, method, tool);
        if let Some(Fault::Change { set }) = &struck {
            // It was read once when it was armed; switches since then cannot make it unreadable.
            if let Ok(switches) = merged(&self.behaviour.switches, set.clone()) {
                self.behaviour.switches = switches;
            }
        }
        struck
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

/// Seconds since the epoch.
#[expect(clippy::disallowed_methods, reason = "the lab stands outside the product and is its own door")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The switches with these fields; fields of `oauth` one by one, so that a command names only what it changes.
fn merged(switches: &Switches, mut fields: Map<String, Value>) -> Result<Switches, serde_json::Error> {
    let mut whole = serde_json::to_value(switches)?;
    if let Value::Object(members) = &mut whole {
        if let (Some(Value::Object(known)), Some(Value::Object(given))) =
            (members.get_mut("oauth"), fields.get_mut("oauth"))
        {
            known.append(given);
            fields.remove("oauth");
        }
        members.extend(fields);
    }
    serde_json::from_value(whole)
}
