//! Rules that no reachable loss shows, because they only make a window smaller or a restart more honest. Never explored, only walked.

use collie_upstream::oauth::refresh::{
    Action, Attempt, End, Event, Held, Intent, InvalidTransition, Journal, Machine, Owner, Preset, RowView, Status, Why,
};

fn owner() -> Owner {
    Owner::new("dev_0")
}

fn row(epoch: u64, intent: Option<Intent>) -> RowView {
    RowView { version: 4, epoch, intent, status: Status::Live }
}

fn walk(machine: Machine, events: impl IntoIterator<Item = Event>) -> Machine {
    events.into_iter().fold(machine, |machine, event| machine.advance(event).expect("the event answers the action"))
}

fn attempt() -> Attempt {
    Attempt { intent: Intent { owner: owner(), fence: 7, version: 4 }, epoch: 2 }
}

/// Intent placed, "about to send" written.
fn about_to_send() -> Machine {
    let start = Machine::start(owner(), Preset::default(), Held { version: 4, epoch: 2 });
    walk(start, [Event::Acquired { fence: 7, row: row(2, None) }, Event::Done, Event::Done])
}

#[test]
fn the_row_is_read_again_immediately_before_the_one_attempt() {
    let stands = Some(attempt().intent);
    let machine = about_to_send();
    assert_eq!(machine.action(), Action::ReadRow);
    assert_eq!(walk(machine.clone(), [Event::Row(row(2, stands.clone()))]).action(), Action::Send(attempt()));
    let other = Intent { owner: Owner::new("dev_1"), ..attempt().intent };
    let dead = RowView { status: Status::Uncertain, ..row(2, stands.clone()) };
    for voided in [row(3, stands.clone()), row(2, None), row(2, Some(other)), dead] {
        let machine = walk(machine.clone(), [Event::Row(voided)]);
        assert_eq!(machine.action(), Action::ClearJournal);
        let machine = walk(machine, [Event::Done, Event::Done]);
        assert_eq!(machine.action(), Action::Finish(End::Superseded));
    }
}

#[test]
fn the_journal_is_emptied_before_the_intent_goes() {
    let machine = walk(about_to_send(), [Event::Row(row(2, Some(attempt().intent))), Event::NotUsed]);
    assert_eq!(machine.action(), Action::ClearJournal);
    assert_eq!(walk(machine.clone(), [Event::Done]).action(), Action::Withdraw(attempt().intent));
    // It could not be emptied: the intent stays.
    assert_eq!(walk(machine, [Event::Failed]).action(), Action::Finish(End::TryLater));
}

#[test]
fn silence_is_never_sent_again() {
    let silent = walk(about_to_send(), [Event::Row(row(2, Some(attempt().intent))), Event::NoAnswer]);
    assert_eq!(silent.action(), Action::MarkUncertain(attempt()));
    let restarted = Machine::recover(owner(), Preset::default(), Journal::AboutToSend(attempt()));
    let restarted = walk(restarted, [Event::Row(row(2, Some(attempt().intent)))]);
    assert_eq!(restarted.action(), Action::MarkUncertain(attempt()));
    for outcome in [Event::Done, Event::Lost(row(2, None)), Event::Failed] {
        let end = walk(restarted.clone(), [outcome]).action();
        assert_eq!(end, Action::Finish(End::NeedsYou(Why::Uncertain)));
    }
}

#[test]
fn a_refusal_of_a_version_that_is_not_stored_any_more_kills_nothing() {
    let refused = walk(about_to_send(), [Event::Row(row(2, Some(attempt().intent))), Event::InvalidGrant]);
    assert_eq!(refused.action(), Action::MarkDead(attempt()));
    let lost = walk(refused, [Event::Lost(row(3, None)), Event::Done]);
    assert_eq!(lost.action(), Action::Finish(End::Superseded));
}

#[test]
fn an_older_row_and_a_wrong_event_are_refused() {
    let start = || Machine::start(owner(), Preset::default(), Held { version: 5, epoch: 2 });
    let old = walk(start(), [Event::Acquired { fence: 7, row: row(2, None) }]);
    assert_eq!(old.action(), Action::Finish(End::RolledBack));
    assert_eq!(start().advance(Event::Answered), Err(InvalidTransition));
    assert_eq!(old.advance(Event::Done), Err(InvalidTransition));
}
