//! The refresh machine driven over the service's routes by two devices that crash, lose answers and overtake each other, at a provider that ends the grant when a refresh token comes twice (2.b.8). It never comes twice, and a live row never holds a used one.

use crate::refresh::Grant;
use collie_tests::{
    harness::{Device, World},
    on_both_engines,
};
use contract::{
    Json, cjson, limits,
    refresh::{
        PlaceIntent, RefreshAnswer, RefreshAttempt, RefreshIntent, RefreshOutcome, RefreshState, RefreshStatus,
        StoreConsent, UploadRefreshed, WithdrawIntent,
    },
};
use std::collections::BTreeSet;
use upstream::oauth::refresh::{
    Action, Attempt, End, Event, Held, Intent, Journal, Machine, Owner, Preset, RowView, Status,
};

/// Steps of one run: each is at most two requests, and one network may send [`limits::RATE_NETWORK_BURST`] at once.
const STEPS: u32 = 200;
/// A session's access token lasts ten minutes, so this many leases may run out in one run.
const LEASES_MAX: u32 = 8;

/// Numbers that follow from the seed alone.
struct Dice(u64);

impl Dice {
    fn one_in(&mut self, sides: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).is_multiple_of(sides)
    }
}

/// A provider that rotates refresh tokens and ends the grant when one comes twice.
#[derive(Default)]
struct Provider {
    given: u64,
    live: BTreeSet<u64>,
    used: BTreeSet<u64>,
    reused: bool,
}

impl Provider {
    fn consent(&mut self) -> u64 {
        self.live.clear();
        self.give()
    }

    fn give(&mut self) -> u64 {
        self.given += 1;
        self.live.insert(self.given);
        self.given
    }

    fn refresh(&mut self, token: u64) -> Option<u64> {
        if self.live.remove(&token) {
            self.used.insert(token);
            return Some(self.give());
        }
        if self.used.contains(&token) {
            self.reused = true;
            self.live.clear();
        }
        None
    }
}

/// A device with what it keeps over a crash.
struct Node {
    device: Device,
    held: Held,
    opened: (Json, u64),
    journal: Option<(Journal, Option<(Json, u64)>)>,
    machine: Option<Machine>,
    answer: Option<u64>,
}

struct Run {
    world: World,
    grant: Grant,
    provider: Provider,
    nodes: Vec<Node>,
    /// Every sealed form with the token inside it: what opening it would give.
    sealed: Vec<(Json, u64)>,
    dice: Dice,
    leases: u32,
    refreshed: u32,
}

impl Run {
    async fn start(world: World, seed: u64) -> Self {
        let browser = world.sign_in_owner().await;
        let devices = [world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await];
        let grant = Grant::share(&world, &devices[0]).await;
        let mut provider = Provider::default();
        let first = (grant.sealed.clone(), provider.give());
        let node = |device| Node {
            device,
            held: Held { version: 1, epoch: 1 },
            opened: first.clone(),
            journal: None,
            machine: None,
            answer: None,
        };
        let nodes = devices.into_iter().map(node).collect();
        let (sealed, dice) = (vec![first.clone()], Dice(seed));
        Self { world, grant, provider, nodes, sealed, dice, leases: 0, refreshed: 0 }
    }

    /// Signed by the service's clock, which runs ahead of the machine's.
    async fn send(&self, at: usize, method: &str, target: &str, body: Option<Json>) -> Json {
        let body = body.map(|body| body.canonical());
        let now_s = self.world.clock.now() / 1000;
        let request = self.nodes[at].device.request_at(method, target, body.as_deref(), now_s);
        request.send(self.world.authority()).await.expect_ok()
    }

    async fn change<T: serde::Serialize>(&self, at: usize, call: &str, body: &T) -> RefreshAnswer {
        let body = cjson::to_json(body).expect("JSON");
        let answer = self.send(at, "POST", &self.grant.target(call), Some(body)).await.canonical();
        cjson::from_slice(&answer, answer.len()).expect("an answer")
    }

    async fn state(&self, at: usize) -> RefreshState {
        let target = format!("/v1/connections/{}/refresh", self.grant.row.id);
        let answer = self.send(at, "GET", &target, None).await.canonical();
        cjson::from_slice(&answer, answer.len()).expect("a state")
    }

    /// What is stored now, opened.
    async fn stored(&self, at: usize) -> (Json, u64) {
        let target = format!("/v1/connections/{}/credential", self.grant.row.id);
        let sealed = self.send(at, "GET", &target, None).await.find("sealed_credential").expect("sealed").clone();
        self.sealed.iter().find(|(known, _)| *known == sealed).expect("one of ours").clone()
    }

    async fn step(&mut self, at: usize) {
        let Some(machine) = self.nodes[at].machine.take() else {
            let node = &mut self.nodes[at];
            let owner = Owner::new(node.device.device_id.as_str());
            node.machine = Some(match &node.journal {
                Some((journal, _)) => Machine::recover(owner, Preset::default(), journal.clone()),
                None => Machine::start(owner, Preset::default(), node.held),
            });
            return;
        };
        let action = machine.action();
        if let Action::Finish(end) = &action {
            if matches!(end, End::Refreshed { .. }) {
                self.refreshed += 1;
            }
            return;
        }
        let event = self.act(at, &action).await;
        // A crash after the step, before its outcome is known.
        if self.dice.one_in(15) {
            self.nodes[at].answer = None;
            return;
        }
        let unheard = self.dice.one_in(12) && is_request(&action);
        let event = if unheard { Event::Failed } else { event };
        self.nodes[at].machine = Some(machine.advance(event).expect("an outcome of this action"));
    }

    async fn act(&mut self, at: usize, action: &Action) -> Event {
        match action {
            Action::Acquire => {
                let answer = self.change(at, "lease", &Json::object()).await;
                match answer.outcome {
                    RefreshOutcome::Done => Event::Acquired { fence: answer.state.fence, row: view(&answer.state) },
                    RefreshOutcome::Lost | RefreshOutcome::LeaseTaken => Event::LeaseTaken,
                }
            }
            Action::Pull => {
                let state = self.state(at).await;
                let held = Held { version: state.credential_version, epoch: state.grant_epoch };
                let opened = self.stored(at).await;
                let node = &mut self.nodes[at];
                (node.held, node.opened) = (held, opened);
                Event::Pulled { held, fresh: self.dice.one_in(2) }
            }
            Action::PutIntent { attempt, replaces } => {
                let replaces = replaces.as_ref().map(wire_intent);
                let Attempt { intent: Intent { fence, version, .. }, epoch: grant_epoch } = attempt.clone();
                outcome(self.change(at, "intent", &PlaceIntent { fence, version, grant_epoch, replaces }).await)
            }
            Action::ReadRow => Event::Row(view(&self.state(at).await)),
            Action::JournalIntent(attempt) => {
                self.nodes[at].journal = Some((Journal::AboutToSend(attempt.clone()), None));
                Event::Done
            }
            Action::Send(attempt) => self.send_token(at, attempt),
            Action::JournalPair(attempt) => self.journal_pair(at, attempt),
            Action::Upload(attempt) => self.upload(at, attempt).await,
            Action::MarkUncertain(attempt) => outcome(self.change(at, "uncertain", &named(attempt)).await),
            Action::MarkDead(attempt) => outcome(self.change(at, "dead", &named(attempt)).await),
            Action::ClearJournal => {
                self.nodes[at].journal = None;
                Event::Done
            }
            Action::Withdraw(intent) => {
                let body = WithdrawIntent { fence: intent.fence, version: intent.version };
                outcome(self.change(at, "withdraw", &body).await)
            }
            Action::RevokeSuccessor(_) | Action::Finish(_) => unreachable!("a revocation would end the whole grant"),
        }
    }

    fn send_token(&mut self, at: usize, attempt: &Attempt) -> Event {
        assert_eq!(self.nodes[at].held.version, attempt.intent.version, "the token of another version");
        if self.dice.one_in(10) {
            return Event::NotUsed;
        }
        let answer = self.provider.refresh(self.nodes[at].opened.1);
        if self.dice.one_in(10) {
            return Event::NoAnswer;
        }
        match answer {
            Some(token) => {
                self.nodes[at].answer = Some(token);
                Event::Answered
            }
            None => Event::InvalidGrant,
        }
    }

    fn journal_pair(&mut self, at: usize, attempt: &Attempt) -> Event {
        let node = &mut self.nodes[at];
        let token = node.answer.take().expect("answered before");
        let next = self.grant.seal_after(&node.device, attempt.intent.version, &node.opened.0, &format!("rt-{token}"));
        node.journal = Some((Journal::Pair(attempt.clone()), Some((next.clone(), token))));
        self.sealed.push((next, token));
        Event::Done
    }

    async fn upload(&mut self, at: usize, attempt: &Attempt) -> Event {
        let pair = self.nodes[at].journal.as_ref().and_then(|(_, pair)| pair.clone()).expect("journaled before");
        let RefreshAttempt { fence, version, grant_epoch } = named(attempt);
        let body = UploadRefreshed { fence, version, grant_epoch, sealed_credential: pair.0.clone() };
        let answer = self.change(at, "upload", &body).await;
        if answer.outcome == RefreshOutcome::Done {
            let node = &mut self.nodes[at];
            (node.held, node.opened) = (Held { version: attempt.next_version(), epoch: grant_epoch }, pair);
        }
        outcome(answer)
    }

    /// The person consents anew: the old grant is revoked first (vii).
    async fn reconsent(&mut self, at: usize, state: &RefreshState) {
        let token = self.provider.consent();
        let stored = self.stored(at).await;
        let device = &self.nodes[at].device;
        let next = self.grant.seal_after(device, state.credential_version, &stored.0, &format!("rt-{token}"));
        self.sealed.push((next.clone(), token));
        let consent = StoreConsent { grant_epoch: state.grant_epoch, sealed_credential: next };
        assert_eq!(self.change(at, "reconsent", &consent).await.outcome, RefreshOutcome::Done);
    }

    /// What holds after every step.
    async fn check(&mut self) {
        assert!(!self.provider.reused, "a refresh token came twice");
        let state = self.state(0).await;
        if state.status == RefreshStatus::Live && state.intent.is_none() {
            let newest = self.stored_token().await;
            assert!(self.provider.live.contains(&newest), "the live row holds token {newest}, which is used up");
        }
        let stuck = state.status != RefreshStatus::Live;
        if (stuck && self.dice.one_in(6)) || self.dice.one_in(60) {
            self.reconsent(0, &state).await;
        }
    }

    /// The stored token, read from the database.
    async fn stored_token(&self) -> u64 {
        let texts = self.world.database.texts("connection_credential", "sealed").await;
        let text = texts.first().expect("one credential");
        self.sealed.iter().find(|(sealed, _)| sealed.canonical_string() == *text).expect("one of ours").1
    }
}

async fn run(world: World, seed: u64) {
    let mut run = Run::start(world, seed).await;
    for _ in 0..STEPS {
        let at = usize::from(run.dice.one_in(2));
        run.step(at).await;
        if run.leases < LEASES_MAX && run.dice.one_in(12) {
            run.leases += 1;
            run.world.clock.advance(i64::try_from(limits::REFRESH_LEASE_S_MAX * 1000).expect("small"));
        }
        run.check().await;
    }
    assert!(run.refreshed > 0, "nothing was refreshed at all");
}

fn is_request(action: &Action) -> bool {
    matches!(
        action,
        Action::Acquire
            | Action::Pull
            | Action::PutIntent { .. }
            | Action::ReadRow
            | Action::Upload(_)
            | Action::MarkUncertain(_)
            | Action::MarkDead(_)
            | Action::Withdraw(_)
    )
}

fn outcome(answer: RefreshAnswer) -> Event {
    match answer.outcome {
        RefreshOutcome::Done => Event::Done,
        RefreshOutcome::Lost | RefreshOutcome::LeaseTaken => Event::Lost(view(&answer.state)),
    }
}

fn view(state: &RefreshState) -> RowView {
    let intent = state.intent.as_ref().map(|intent| Intent {
        owner: Owner::new(&intent.owner),
        fence: intent.fence,
        version: intent.version,
    });
    let status = match state.status {
        RefreshStatus::Live => Status::Live,
        RefreshStatus::Uncertain => Status::Uncertain,
        RefreshStatus::Dead => Status::Dead,
    };
    RowView { version: state.credential_version, epoch: state.grant_epoch, intent, status }
}

fn wire_intent(intent: &Intent) -> RefreshIntent {
    RefreshIntent { owner: intent.owner.as_str().to_owned(), fence: intent.fence, version: intent.version }
}

fn named(attempt: &Attempt) -> RefreshAttempt {
    RefreshAttempt { fence: attempt.intent.fence, version: attempt.intent.version, grant_epoch: attempt.epoch }
}

on_both_engines! {
    async fn two_devices_never_use_a_token_twice_1(world: World) {
        run(world, 1).await;
    }

    async fn two_devices_never_use_a_token_twice_2(world: World) {
        run(world, 22).await;
    }

    async fn two_devices_never_use_a_token_twice_3(world: World) {
        run(world, 333).await;
    }

    async fn two_devices_never_use_a_token_twice_4(world: World) {
        run(world, 4444).await;
    }
}
