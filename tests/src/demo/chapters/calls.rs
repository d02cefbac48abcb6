//! Calls from both devices: a tool that reads runs, a commit asks for a yes for exactly these arguments, a restricted tool is refused.

use crate::demo::target::Planned;
use crate::demo::teller::Teller;
use crate::demo::world::World;
use crate::processes::Device;
use crate::trouble::Trouble;
use serde_json::json;

/// A reading tool, from both devices.
pub(in crate::demo) fn read(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("A tool that reads runs, from both devices");
    let planned = world.plan()?.read;
    for device in [&world.laptop, &world.desk] {
        let arguments = planned.arguments.to_string();
        let finished = teller.run(device, &call(world, &planned, &arguments))?;
        teller.check(
            !finished.stdout.is_empty(),
            &format!("The {} opened the credential for this one call, and the server answered.", device.name()),
        )?;
    }
    teller.fact("read_from", json!([world.laptop.name(), world.desk.name()]));
    teller.readers(&[
        ("laptop, desk", "the calls they made and the answers"),
        ("MCP server", "its token and these calls, straight from the devices"),
        ("service", "neither calls nor answers: it is not on that path"),
    ]);
    Ok(())
}

/// A commit, from both devices: refused, then allowed once.
pub(in crate::demo) fn commit(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("A commit asks, from both devices");
    let plan = world.plan()?;
    let before = applied(world, &plan.commit.tool)?;
    let mut refused = Vec::new();
    for device in [&world.laptop, &world.desk] {
        let arguments = plan.commit.arguments.to_string();
        let call = call(world, &plan.commit, &arguments);
        let (exit, code) = teller.refused(device, &call)?;
        teller.check(
            (exit, code.as_str()) == (7, "authority.ask"),
            "Refused without your word: exit code 7, and the refusal names the command that would allow it.",
        )?;
        refused.push(json!({"device": device.name(), "exit": exit, "code": code}));
        allow(teller, device, &call)?;
    }
    let after = applied(world, &plan.commit.tool)?;
    if let (Some(before), Some(after)) = (before, after) {
        teller.check(
            after == before + 2,
            &format!("The server counts {} of them: two yeses, two calls, none twice.", after - before),
        )?;
        teller.fact("commits_applied", after - before);
    }
    teller.fact("commit_refused", refused);
    teller.fact("commit_allowed_from", json!([world.laptop.name(), world.desk.name()]));
    restricted(world, teller, plan.restricted.as_ref())
}

fn allow(teller: &mut Teller, device: &Device, call: &[&str]) -> Result<(), Trouble> {
    let with_yes = [call, &["--yes"]].concat();
    teller.decided("yes, exactly this call, once");
    teller.run(device, &with_yes).map(drop)
}

/// No yes of the moment is enough for what is restricted.
fn restricted(world: &World, teller: &mut Teller, planned: Option<&Planned>) -> Result<(), Trouble> {
    let Some(planned) = planned else { return Ok(()) };
    let arguments = planned.arguments.to_string();
    let with_yes = [&call(world, planned, &arguments)[..], &["--yes"]].concat();
    let (exit, code) = teller.refused(&world.laptop, &with_yes)?;
    teller.check(
        (exit, code.as_str()) == (7, "authority.step_up_required"),
        "A restricted tool is refused even with `--yes`.",
    )?;
    let ran = applied(world, &planned.tool)?;
    teller.check(ran.unwrap_or(0) == 0, "The server never saw it.")?;
    teller.fact("restricted_refused", json!({"exit": exit, "code": code}));
    Ok(())
}

/// The arguments of `collie online` for a call.
pub(super) fn call<'a>(world: &'a World, planned: &'a Planned, arguments: &'a str) -> Vec<&'a str> {
    let mut call = vec!["invoke", world.connection.as_str(), planned.tool.as_str()];
    if planned.arguments.as_object().is_some_and(|members| !members.is_empty()) {
        call.extend(["--arguments", arguments]);
    }
    call
}

/// How often a tool's effect happened, where the server can be asked.
pub(super) fn applied(world: &World, tool: &str) -> Result<Option<u64>, Trouble> {
    world.target.lab.as_ref().map(|lab| lab.applied(tool)).transpose()
}
