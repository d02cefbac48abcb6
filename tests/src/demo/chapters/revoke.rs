//! The second device is revoked: what the service refuses from now on, what our client deletes, and what nobody can take back.

use super::calls::call;
use super::share::text;
use crate::canary::files_below;
use crate::demo::teller::Teller;
use crate::demo::world::World;
use crate::trouble::Trouble;
use serde_json::json;

/// The revocation.
pub(in crate::demo) fn revoke(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("One device is revoked");
    let desk = text(&world.desk.data(&["whoami"])?, "device_id");
    teller.decided("the desk is not to be trusted any more");
    teller.run(&world.laptop, &["device-revoke", &desk, "--yes"])?;

    let plan = world.plan()?;
    let arguments = plan.read.arguments.to_string();
    let read = call(world, &plan.read, &arguments);
    teller.typed("desk", &crate::processes::line(&read));
    let first = world.desk.run(&read)?;
    teller.output(&format!("{}{}", first.out(), first.err()));
    let (exit, error) = world.desk.refusal(&["devices"])?;
    let code = text(&error, "code");
    teller.check(
        first.code == Some(3) && (exit, code.as_str()) == (3, "session.revoked"),
        "Refused at its first contact with the service: exit code 3, session.revoked.",
    )?;
    let left = keys_left(world);
    teller.check(left.is_empty(), "Our client deleted its sealing key and its sealed copy.")?;
    teller.words(
        "What nobody can take back: a modified client on the desk would still hold the sealing key and every credential it opened, and without contact \
         to the service it could go on using them. So the credential has to be changed where it came from:",
    );
    let rotate = match &world.target.bearer {
        Some(_) => format!(
            "at the provider of {}: make a new token, end the old one, then `collie online connection-review {} --bearer-stdin`",
            world.target.url, world.connection
        ),
        None => format!("{} asks for no credential, so there is nothing to change there", world.target.url),
    };
    teller.words(&format!("→ {rotate}."));
    let arguments = plan.read.arguments.to_string();
    teller.run(&world.laptop, &call(world, &plan.read, &arguments))?;
    teller.check(true, "The laptop goes on as before.")?;
    teller.fact("revoked", json!({"first_exit": first.code, "exit": exit, "code": code, "keys_left": left.len()}));
    teller.fact("rotate", rotate);
    let at_the_server = match &world.target.bearer {
        Some(_) => "cannot tell the desk from the laptop: both used your token. Change it there",
        None => "cannot tell the desk from the laptop: it asks nobody for a credential",
    };
    teller.readers(&[
        ("desk", "nothing new from the service; what it opened before, if its client was modified"),
        ("laptop", "as before"),
        ("service", "as before, and that the desk was revoked and when"),
        ("MCP server", at_the_server),
    ]);
    Ok(())
}

/// Files of the desk that would still open something.
fn keys_left(world: &World) -> Vec<String> {
    let files = files_below(&world.desk.state_dir());
    let names = files.iter().filter_map(|(path, _)| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("sealing-") || name.starts_with("session-")).collect()
}
