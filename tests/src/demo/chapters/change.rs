//! The server changes one byte of a description: blocked on both devices until somebody reviews the difference.

use super::calls::{applied, call};
use super::share::{find_row, text};
use crate::demo::teller::Teller;
use crate::demo::world::World;
use crate::trouble::Trouble;
use serde_json::{Value, json};

/// One byte, and nothing runs any more. A server that is not ours is not changed, and that is said.
pub(in crate::demo) fn change(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("The server changes what it says about a tool");
    let Some(lab) = &world.target.lab else {
        teller.words("This server is not ours to change, so this chapter is left out, and nothing is simulated in its place. `cargo xtask demo` without `--mcp-url` shows it.");
        teller.fact("change", "left out: the server is not ours to change");
        return Ok(());
    };
    let plan = world.plan()?;
    lab.control(&json!({"set": {"changes": ["description"]}}))?;
    teller.words("The server now says “Lists the titles of all notes!” where you reviewed “…notes.”: one byte, in the description of a tool that the next call does not even name.");

    let before = applied(world, &plan.commit.tool)?;
    let arguments = plan.commit.arguments.to_string();
    let commit = [&call(world, &plan.commit, &arguments)[..], &["--yes"]].concat();
    let (exit, code) = teller.refused(&world.laptop, &commit)?;
    teller.check(
        (exit, code.as_str()) == (8, "connection.manifest_changed"),
        "Blocked on the laptop before the call left, even with a yes.",
    )?;
    teller.check(applied(world, &plan.commit.tool)? == before, "The server saw no call.")?;

    let arguments = plan.read.arguments.to_string();
    let (desk_exit, desk_code) = teller.refused(&world.desk, &call(world, &plan.read, &arguments))?;
    teller.check(
        (desk_exit, desk_code.as_str()) == (8, "connection.review_required"),
        "Blocked on the desk too: the laptop's report narrowed the service's copy. A report can only narrow.",
    )?;
    teller.fact(
        "blocked",
        json!({"laptop": {"exit": exit, "code": code}, "desk": {"exit": desk_exit, "code": desk_code}}),
    );
    Ok(())
}

/// The difference, a decision, and work goes on.
pub(in crate::demo) fn review_again(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("You review the difference");
    let before = text(&find_row(world)?, "raw_digest");
    let difference = teller.run(&world.laptop, &["connection-review", &world.connection, "--diff"])?;
    if world.target.lab.is_none() {
        teller.words("Nothing changed, so there is nothing to decide.");
        return Ok(());
    }
    teller.check(difference.out().contains("list_notes"), "The difference names the tool and shows both texts.")?;
    teller.decided("the changed tool still only reads");
    let found = text(&world.laptop.data(&["connection-review", &world.connection, "--diff"])?, "found");
    teller.run(
        &world.laptop,
        &["connection-review", &world.connection, "--digest", &found, "--effect", "list_notes=observe", "--yes"],
    )?;
    let row = find_row(world)?;
    let review_seq = row.get("review_seq").and_then(Value::as_u64).unwrap_or_default();
    teller.check(
        text(&row, "status") == "active" && text(&row, "raw_digest") != before,
        &format!("Review number {review_seq} stands; the credential was sealed again under it."),
    )?;
    let plan = world.plan()?;
    let arguments = plan.read.arguments.to_string();
    teller.run(&world.desk, &call(world, &plan.read, &arguments))?;
    teller.check(true, "The desk took the new review by itself and works again.")?;
    teller.fact("review_seq", review_seq);
    teller.readers(&[("everybody", "as before; the service now also has the new tool texts and the new ciphertext")]);
    Ok(())
}
