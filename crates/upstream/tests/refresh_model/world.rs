//! The world of the model: a row, a provider with strict reuse detection, devices that drive the machine, and a person who consents anew. Never more than the bounds allow, so that all of it can be explored.

use collie_upstream::oauth::refresh::{
    Action, Attempt, Event, Held, Intent, Journal, Machine, Owner, Preset, ReconsentStep, Reuse, Revocation, RowView,
    Status, reconsent_order,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) devices: usize,
    pub(crate) crashes: u8,
    pub(crate) requests: u8,
    pub(crate) leases: u8,
    /// Answers of the store and of the provider that get lost.
    pub(crate) losses: u8,
    pub(crate) consents: u8,
}

/// The machine as it is, and what is known to be too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// 2.b.8.
    Intent,
    /// The upload asks for the current lease too.
    UploadNeedsLease,
    /// An intent is taken over by time at a provider that is not safe against it.
    TakeOver,
    /// Lease, fencing token and version, and no intent.
    LeaseAndFence,
    /// Whoever had the lease writes.
    LeaseOnly,
    /// As `LeaseAndFence`; who is told `invalid_grant` deletes what is stored.
    LoserDeletes,
    /// The preset is wrong about the reach of a revocation.
    PresetSaysToken,
    /// The same, the other way round.
    PresetSaysGrant,
}

impl Variant {
    fn has_intents(self) -> bool {
        !matches!(self, Self::LeaseAndFence | Self::LeaseOnly | Self::LoserDeletes)
    }

    fn preset(self, reach: Revocation) -> Preset {
        let reuse = if self == Self::TakeOver { Reuse::Safe } else { Reuse::Detected };
        let revocation = match self {
            Self::PresetSaysToken => Revocation::Token,
            Self::PresetSaysGrant => Revocation::Grant,
            Self::Intent
            | Self::UploadNeedsLease
            | Self::TakeOver
            | Self::LeaseAndFence
            | Self::LeaseOnly
            | Self::LoserDeletes => reach,
        };
        Preset { reuse, revocation }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Token {
    Live,
    Used,
    Revoked,
}

/// Refresh tokens are their places in a list; each has the consent that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Provider {
    tokens: Vec<(u8, Token)>,
    pub(crate) tripped: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) version: u64,
    epoch: u64,
    intent: Option<Intent>,
    status: Status,
    /// The refresh token inside the blob; none if somebody deleted it.
    token: Option<usize>,
    /// Fence of the lease that somebody has.
    lease: Option<u64>,
    fences: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Device {
    held: Held,
    token: Option<usize>,
    machine: Option<Machine>,
    journal: Option<(Journal, Option<usize>)>,
    /// The new refresh token that the provider gave, in memory.
    given: Option<usize>,
    /// What the provider answered, on its way.
    answer: Option<Result<usize, ()>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Consent {
    at: usize,
    old: Option<usize>,
    new: Option<usize>,
    epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) row: Row,
    pub(crate) provider: Provider,
    devices: Vec<Device>,
    consent: Option<Consent>,
    /// A crash or a lost answer took the only copy of a token; nothing can bring it back.
    destroyed: Vec<usize>,
    left: Bounds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A device needs an access token, or goes on after a crash.
    Begin(usize),
    /// The machine's action is done, or the provider acts on what was sent.
    Act(usize),
    /// The action is done and its answer is lost; or the provider's answer is.
    ActUnheard(usize),
    Crash(usize),
    LeaseEnds,
    Reconsent,
}

impl World {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let held = Held { version: 0, epoch: 0 };
        let device = Device { held, token: Some(0), machine: None, journal: None, given: None, answer: None };
        let row =
            Row { version: 0, epoch: 0, intent: None, status: Status::Live, token: Some(0), lease: None, fences: 0 };
        Self {
            row,
            provider: Provider { tokens: vec![(0, Token::Live)], tripped: false },
            devices: vec![device; bounds.devices],
            consent: None,
            destroyed: Vec::new(),
            left: bounds,
        }
    }

    /// A live token that neither the row holds nor anybody can still store, and nobody says so.
    pub(crate) fn has_lost(&self, variant: Variant) -> bool {
        let newest = self.provider.tokens.iter().rposition(|(_, state)| *state == Token::Live);
        let Some(token) = newest else { return false };
        let (grant, _) = self.provider.tokens[token];
        // An old consent's token is the orphan property's; a new one's is the person's until it is stored.
        let is_current = u64::from(grant) == self.row.epoch;
        if !is_current || self.row.token == Some(token) {
            return false;
        }
        let can_be_stored = self.devices.iter().any(|device| device.can_store(token, &self.row, variant));
        let is_said = self.destroyed.contains(&token) && (self.row.intent.is_some() || self.row.status != Status::Live);
        // Revoking the old grant before the new consent kills it anyway.
        !can_be_stored && !is_said
    }

    pub(crate) fn new_consent_is_dead(&self) -> bool {
        self.provider.tokens.iter().any(|(grant, state)| *grant > 0 && *state == Token::Revoked)
    }

    /// Nothing runs and nothing is left to do.
    pub(crate) fn is_quiet(&self) -> bool {
        let idle = |device: &Device| device.machine.is_none() && device.journal.is_none();
        self.left.consents == 0 && self.consent.is_none() && self.row.epoch > 0 && self.devices.iter().all(idle)
    }

    pub(crate) fn has_orphan(&self) -> bool {
        let tokens = self.provider.tokens.iter().enumerate();
        tokens
            .into_iter()
            .any(|(at, (grant, state))| *grant == 0 && *state == Token::Live && !self.destroyed.contains(&at))
    }

    fn view(&self) -> RowView {
        let Row { version, epoch, status, .. } = self.row;
        RowView { version, epoch, intent: self.row.intent.clone(), status }
    }
}

impl Device {
    fn can_store(&self, token: usize, row: &Row, variant: Variant) -> bool {
        let has = self.given == Some(token)
            || self.answer == Some(Ok(token))
            || matches!(&self.journal, Some((_, Some(journaled))) if *journaled == token);
        let attempt = match &self.journal {
            Some((Journal::AboutToSend(attempt) | Journal::Pair(attempt), _)) => attempt,
            None => return false,
        };
        has && may_upload(row, attempt, variant)
    }
}

fn may_upload(row: &Row, attempt: &Attempt, variant: Variant) -> bool {
    let same_version = row.version == attempt.intent.version && row.epoch == attempt.epoch;
    let same_lease = row.lease == Some(attempt.intent.fence);
    let same_intent = row.intent.as_ref() == Some(&attempt.intent);
    match variant {
        Variant::Intent | Variant::TakeOver | Variant::PresetSaysToken | Variant::PresetSaysGrant => {
            same_version && same_intent
        }
        Variant::UploadNeedsLease => same_version && same_intent && same_lease,
        Variant::LeaseAndFence | Variant::LoserDeletes => same_version && same_lease,
        Variant::LeaseOnly => true,
    }
}

pub(crate) fn steps(world: &World, out: &mut Vec<Step>) {
    for (at, device) in world.devices.iter().enumerate() {
        match &device.machine {
            None if device.journal.is_some() || world.left.requests > 0 => out.push(Step::Begin(at)),
            None => {}
            Some(_) => {
                out.push(Step::Act(at));
                if world.left.losses > 0 {
                    out.push(Step::ActUnheard(at));
                }
                if world.left.crashes > 0 {
                    out.push(Step::Crash(at));
                }
            }
        }
    }
    if world.row.lease.is_some() {
        out.push(Step::LeaseEnds);
    }
    if world.left.consents > 0 || world.consent.is_some() {
        out.push(Step::Reconsent);
    }
}

pub(crate) fn next(world: &World, step: Step, variant: Variant, reach: Revocation) -> Option<World> {
    let mut world = world.clone();
    match step {
        Step::Begin(at) => begin(&mut world, at, variant.preset(reach)),
        Step::Act(at) => act(&mut world, at, variant, reach, true)?,
        Step::ActUnheard(at) => {
            world.left.losses -= 1;
            act(&mut world, at, variant, reach, false)?;
        }
        Step::Crash(at) => crash(&mut world, at),
        Step::LeaseEnds => world.row.lease = None,
        Step::Reconsent => reconsent(&mut world, variant.preset(reach), reach),
    }
    Some(world)
}

fn owner(at: usize) -> Owner {
    Owner::new(format!("dev_{at}"))
}

fn begin(world: &mut World, at: usize, preset: Preset) {
    let device = &mut world.devices[at];
    device.machine = Some(match &device.journal {
        Some((journal, _)) => Machine::recover(owner(at), preset, journal.clone()),
        None => {
            world.left.requests -= 1;
            Machine::start(owner(at), preset, device.held)
        }
    });
}

fn crash(world: &mut World, at: usize) {
    world.left.crashes -= 1;
    let device = &mut world.devices[at];
    let journaled = device.journal.as_ref().and_then(|(_, token)| *token);
    let in_memory = device.given.into_iter().chain(device.answer.and_then(Result::ok));
    world.destroyed.extend(in_memory.filter(|token| Some(*token) != journaled));
    (device.machine, device.given, device.answer) = (None, None, None);
}

fn act(world: &mut World, at: usize, variant: Variant, reach: Revocation, heard: bool) -> Option<()> {
    let machine = world.devices[at].machine.clone()?;
    let action = machine.action();
    let event = match &action {
        Action::Finish(_) => {
            let device = &mut world.devices[at];
            (device.machine, device.given) = (None, None);
            return heard.then_some(());
        }
        // Lost answers of these change nothing that a crash does not change too.
        Action::Acquire | Action::Pull | Action::ReadRow if !heard => return None,
        Action::Send(attempt) => send(world, at, attempt, heard),
        Action::ReadRow => Some(Event::Row(seen(world, at, variant))),
        Action::Acquire => Some(acquire(world)),
        Action::Pull => Some(pull(world, at)),
        Action::PutIntent { .. }
        | Action::JournalIntent(_)
        | Action::JournalPair(_)
        | Action::Upload(_)
        | Action::MarkUncertain(_)
        | Action::MarkDead(_)
        | Action::ClearJournal
        | Action::Withdraw(_)
        | Action::RevokeSuccessor(_) => {
            let event = change(world, at, &action, variant, reach);
            Some(if heard { event } else { Event::Failed })
        }
    };
    if let Some(event) = event {
        world.devices[at].machine = Some(machine.advance(event).expect("the event answers the action"));
    }
    Some(())
}

/// None: the provider has acted, and its answer is on its way.
fn send(world: &mut World, at: usize, attempt: &Attempt, heard: bool) -> Option<Event> {
    if let Some(answer) = world.devices[at].answer.take() {
        if !heard {
            world.destroyed.extend(answer.ok());
            return Some(Event::NoAnswer);
        }
        return Some(match answer {
            Ok(token) => {
                world.devices[at].given = Some(token);
                Event::Answered
            }
            Err(()) => Event::InvalidGrant,
        });
    }
    let device = &world.devices[at];
    assert_eq!(device.held.version, attempt.intent.version, "only the version that was opened is sent");
    let token = device.token.expect("an opened version has a token");
    if !heard {
        return Some(Event::NotUsed);
    }
    let (grant, state) = world.provider.tokens[token];
    let answer = match state {
        Token::Live => {
            world.provider.tokens[token].1 = Token::Used;
            world.provider.tokens.push((grant, Token::Live));
            Ok(world.provider.tokens.len() - 1)
        }
        Token::Used => {
            world.provider.tripped = true;
            Err(())
        }
        Token::Revoked => Err(()),
    };
    world.devices[at].answer = Some(answer);
    None
}

/// What a device sees in the row; without intents it believes in its own.
fn seen(world: &World, at: usize, variant: Variant) -> RowView {
    let mut view = world.view();
    if !variant.has_intents() {
        let journal = world.devices[at].journal.as_ref();
        view.intent = journal.map(|(Journal::AboutToSend(attempt) | Journal::Pair(attempt), _)| attempt.intent.clone());
    }
    view
}

fn acquire(world: &mut World) -> Event {
    if world.row.lease.is_some() || world.left.leases == 0 {
        return Event::LeaseTaken;
    }
    world.left.leases -= 1;
    world.row.fences += 1;
    world.row.lease = Some(world.row.fences);
    Event::Acquired { fence: world.row.fences, row: world.view() }
}

fn pull(world: &mut World, at: usize) -> Event {
    let held = Held { version: world.row.version, epoch: world.row.epoch };
    let device = &mut world.devices[at];
    (device.held, device.token) = (held, world.row.token);
    // Just stored by somebody else, so its access token is new. A deleted blob has none.
    Event::Pulled { held, fresh: true }
}

fn change(world: &mut World, at: usize, action: &Action, variant: Variant, reach: Revocation) -> Event {
    match action {
        Action::PutIntent { attempt, replaces } => put_intent(world, attempt, replaces.as_ref(), variant),
        Action::JournalIntent(attempt) => {
            world.devices[at].journal = Some((Journal::AboutToSend(attempt.clone()), None));
            Event::Done
        }
        Action::JournalPair(attempt) => {
            let given = world.devices[at].given;
            world.devices[at].journal = Some((Journal::Pair(attempt.clone()), given));
            Event::Done
        }
        Action::Upload(attempt) => upload(world, at, attempt, variant),
        Action::MarkUncertain(attempt) => cas(world, attempt, variant, |row| row.status = Status::Uncertain),
        Action::MarkDead(attempt) if variant == Variant::LoserDeletes => {
            world.row.token = None;
            cas(world, attempt, variant, |row| row.status = Status::Dead)
        }
        Action::MarkDead(attempt) => cas(world, attempt, variant, |row| {
            row.status = Status::Dead;
            row.intent = None;
        }),
        Action::ClearJournal => {
            world.devices[at].journal = None;
            Event::Done
        }
        Action::Withdraw(intent) => {
            if world.row.intent.as_ref() == Some(intent) {
                world.row.intent = None;
            }
            Event::Done
        }
        Action::RevokeSuccessor(_) => {
            if let Some((_, Some(token))) = world.devices[at].journal {
                revoke(&mut world.provider, token, reach);
            }
            Event::Done
        }
        Action::Acquire | Action::Pull | Action::ReadRow | Action::Send(_) | Action::Finish(_) => {
            unreachable!("handled before")
        }
    }
}

fn put_intent(world: &mut World, attempt: &Attempt, replaces: Option<&Intent>, variant: Variant) -> Event {
    let row = &mut world.row;
    let agree = row.version == attempt.intent.version
        && row.epoch == attempt.epoch
        && row.lease == Some(attempt.intent.fence)
        && row.intent.as_ref() == replaces;
    if !agree {
        return Event::Lost(world.view());
    }
    if variant.has_intents() {
        row.intent = Some(attempt.intent.clone());
    }
    Event::Done
}

fn upload(world: &mut World, at: usize, attempt: &Attempt, variant: Variant) -> Event {
    let journaled = world.devices[at].journal.as_ref().and_then(|(_, token)| *token);
    let token = journaled.or(world.devices[at].given);
    // Bytes that are already stored are done.
    let stored = world.row.version == attempt.next_version() && world.row.token == token;
    if !stored && !may_upload(&world.row, attempt, variant) {
        return Event::Lost(world.view());
    }
    let row = &mut world.row;
    (row.version, row.token) = (attempt.next_version(), token);
    if row.intent.as_ref() == Some(&attempt.intent) {
        row.intent = None;
    }
    let device = &mut world.devices[at];
    device.held = Held { version: attempt.next_version(), epoch: attempt.epoch };
    (device.token, device.given) = (token, None);
    Event::Done
}

fn cas(world: &mut World, attempt: &Attempt, variant: Variant, set: impl FnOnce(&mut Row)) -> Event {
    let row = &mut world.row;
    let agree = row.version == attempt.intent.version
        && row.epoch == attempt.epoch
        && (!variant.has_intents() || row.intent.as_ref() == Some(&attempt.intent));
    if !agree {
        return Event::Lost(world.view());
    }
    set(row);
    Event::Done
}

fn revoke(provider: &mut Provider, token: usize, reach: Revocation) {
    let (of, _) = provider.tokens[token];
    for (at, (grant, state)) in provider.tokens.iter_mut().enumerate() {
        let reached = match reach {
            Revocation::Token => at == token,
            Revocation::Family => *grant == of,
            Revocation::Grant => true,
        };
        if reached && *state == Token::Live {
            *state = Token::Revoked;
        }
    }
}

fn reconsent(world: &mut World, preset: Preset, reach: Revocation) {
    let consent = world.consent.take().unwrap_or_else(|| {
        world.left.consents -= 1;
        Consent { at: 0, old: None, new: None, epoch: world.row.epoch }
    });
    let mut consent = consent;
    match reconsent_order(preset.revocation)[consent.at] {
        ReconsentStep::RevokeOld => {
            if let Some(old) = consent.old.or(world.row.token) {
                revoke(&mut world.provider, old, reach);
            }
        }
        ReconsentStep::Consent => {
            let grant = u8::try_from(consent.epoch + 1).expect("few");
            world.provider.tokens.push((grant, Token::Live));
            consent.new = Some(world.provider.tokens.len() - 1);
        }
        ReconsentStep::Store => {
            let row = &mut world.row;
            consent.old = row.token;
            (row.version, row.epoch) = (row.version + 1, consent.epoch + 1);
            (row.intent, row.status, row.token) = (None, Status::Live, consent.new);
        }
    }
    consent.at += 1;
    world.consent = (consent.at < 3).then_some(consent);
}
