//! The refresh machine under exhaustive exploration (2.b.8): any interleaving, leases that end at any step, crashes anywhere, a provider with strict reuse detection. Never a sample: what is said to never happen is looked for in every reachable state.
//!
//! The five usual ways to do it are beside it as controls that must fail: each uses the same machine over a row, or a
//! provider, that keeps one rule less. A sixth and a seventh break the order of a new consent (vii, viii).

mod rules;
mod world;

use collie_upstream::oauth::refresh::Revocation;
use stateright::{Checker, Model, Property};
use world::{Bounds, Step, Variant, World, next, steps};

struct Refresh {
    variant: Variant,
    /// What revoking one token ends at the provider, in truth.
    reach: Revocation,
    bounds: Bounds,
}

const TRIPPED: &str = "reuse detection never trips";
const LOST: &str = "a live token is never lost unseen";
const KILLED: &str = "a new consent is never ended by our own revocation";
const ORPHAN: &str = "no token of an old consent lives on where it can be revoked alone";
const REFRESHED: &str = "a refresh can succeed";

impl Model for Refresh {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.bounds)]
    }

    fn actions(&self, world: &World, out: &mut Vec<Step>) {
        steps(world, out);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        next(world, step, self.variant, self.reach)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(TRIPPED, |_, world: &World| !world.provider.tripped),
            Property::always(LOST, |model: &Self, world: &World| !world.has_lost(model.variant)),
            Property::always(KILLED, |_, world: &World| !world.new_consent_is_dead()),
            Property::always(ORPHAN, |model: &Self, world: &World| {
                model.reach == Revocation::Grant || !world.is_quiet() || !world.has_orphan()
            }),
            Property::sometimes(REFRESHED, |_, world: &World| world.row.version > 0),
        ]
    }
}

fn discoveries(variant: Variant, reach: Revocation, bounds: Bounds) -> (usize, Vec<&'static str>) {
    let checker = Refresh { variant, reach, bounds }.checker().threads(2).spawn_bfs().join();
    let found = checker.discoveries().into_keys().filter(|name| *name != REFRESHED).collect();
    assert!(checker.discovery(REFRESHED).is_some(), "the model is not vacuous");
    (checker.unique_state_count(), found)
}

const TWO: Bounds = Bounds { devices: 2, crashes: 2, requests: 3, leases: 4, losses: 1, consents: 0 };

#[test]
fn two_devices_never_trip_the_detector_and_never_lose_a_token() {
    let (states, found) = discoveries(Variant::Intent, Revocation::Grant, TWO);
    assert_eq!(found, Vec::<&str>::new(), "of {states} states");
    assert!(states > 1_000, "{states}");
}

#[test]
fn nor_do_three() {
    let bounds = Bounds { devices: 3, crashes: 1, requests: 3, leases: 3, losses: 0, consents: 0 };
    let (states, found) = discoveries(Variant::Intent, Revocation::Grant, bounds);
    assert_eq!(found, Vec::<&str>::new(), "of {states} states");
    assert!(states > 1_000, "{states}");
}

#[test]
fn a_new_consent_is_safe_whatever_a_revocation_ends() {
    for reach in [Revocation::Token, Revocation::Family, Revocation::Grant] {
        let bounds = Bounds { devices: 2, crashes: 1, requests: 2, leases: 3, losses: 0, consents: 1 };
        let (states, found) = discoveries(Variant::Intent, reach, bounds);
        assert_eq!(found, Vec::<&str>::new(), "{reach:?}, of {states} states");
    }
}

#[test]
fn each_weaker_protocol_fails() {
    let bounds = Bounds { devices: 2, crashes: 1, requests: 2, leases: 3, losses: 0, consents: 0 };
    assert_eq!(discoveries(Variant::Intent, Revocation::Grant, bounds).1, Vec::<&str>::new());
    for (variant, expected) in [
        (Variant::UploadNeedsLease, vec![LOST]),
        (Variant::TakeOver, vec![LOST, TRIPPED]),
        (Variant::LeaseAndFence, vec![LOST, TRIPPED]),
        (Variant::LeaseOnly, vec![LOST, TRIPPED]),
        (Variant::LoserDeletes, vec![LOST, TRIPPED]),
    ] {
        let (_, mut found) = discoveries(variant, Revocation::Grant, bounds);
        found.sort_unstable();
        assert_eq!(found, expected, "{variant:?}");
    }
}

#[test]
fn revoking_in_the_wrong_order_or_reach_fails() {
    let bounds = Bounds { devices: 2, crashes: 1, requests: 2, leases: 3, losses: 0, consents: 1 };
    // The preset says that one token is revoked; the provider ends the whole grant.
    let (_, found) = discoveries(Variant::PresetSaysToken, Revocation::Grant, bounds);
    assert!(found.contains(&KILLED), "{found:?}");
    // The preset says that the grant ends, so that nobody revokes the token in a voided journal.
    let (_, found) = discoveries(Variant::PresetSaysGrant, Revocation::Token, bounds);
    assert!(found.contains(&ORPHAN), "{found:?}");
}
