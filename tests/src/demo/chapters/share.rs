//! The connection is reviewed and shared, and its key is brought to the second device by the person.

use crate::demo::target::Plan;
use crate::demo::teller::Teller;
use crate::demo::world::World;
use crate::processes::line;
use crate::trouble::Trouble;
use serde_json::{Value, json};

/// What the connection is called.
const NAME: &str = "notes";

/// The manifest is read and reviewed, the credential sealed, both stored in one call.
pub(in crate::demo) fn share(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("One connection is reviewed and shared");
    teller.words("The laptop reads the server's tools; you decide what each may do. The server's own hints only fill the table in, they never lower an effect.");
    let url = world.target.url.clone();
    let mut arguments = vec!["share-mcp", NAME, "--url", &url];
    if world.target.bearer.is_some() {
        arguments.push("--bearer-stdin");
    }
    let effects = world.plan.as_ref().map(|plan| plan.effects.clone()).unwrap_or_default();
    effects.iter().for_each(|effect| arguments.extend(["--effect", effect]));
    arguments.push("--yes");
    let (stdin, shown) = match &world.target.bearer {
        Some(token) => (format!("{token}\n"), format!("{} < token", line(&arguments))),
        None => (String::new(), line(&arguments)),
    };
    teller.run_shown(&world.laptop, &arguments, stdin.as_bytes(), &shown)?;
    let row = find_row(world)?;
    world.connection = text(&row, "id");
    let rows = row.get("manifest").and_then(Value::as_array).cloned().unwrap_or_default();
    teller.decided(&format!("the effect of each of its {} tools", rows.len()));
    if world.plan.is_none() {
        choose(world, teller, &rows)?;
    }
    let row = find_row(world)?;
    teller.check(
        text(&row, "status") == "active" && text(&row, "seal_format") == "v2",
        "Reviewed, sealed on the laptop (CLV2), stored at the service.",
    )?;
    if world.target.bearer.is_some() {
        teller.words("The token came by standard input: it was in no argument, no environment and no file.");
    }
    teller.fact("connection", world.connection.clone());
    teller.fact("tools", rows.len());
    teller.fact("effects", effects_of(&row));
    if world.target.bearer.is_none() {
        teller.words(
            "This server asks for no credential. What is sealed is an empty one, and still worth it: it binds the review, so that no \
             row of the service can change an effect.",
        );
    }
    teller.readers(&[
        ("laptop", "the credential, in memory for one call at a time; stores it sealed"),
        ("service", "the connection's name and address, the reviewed tools, ciphertext; not the credential"),
        ("desk", "the same ciphertext; it has no key that opens it"),
        ("MCP server", "its own token, and that the laptop read its tools"),
    ]);
    Ok(())
}

/// A server that nobody knows: everything is a commit until the person has looked.
fn choose(world: &mut World, teller: &mut Teller, rows: &[Value]) -> Result<(), Trouble> {
    let plan = Plan::choose(rows).ok_or_else(|| {
        Trouble::new(
            "this server has no two tools that can be called harmlessly with plain arguments",
            "try another server, or `cargo xtask demo` without `--mcp-url`",
        )
    })?;
    teller.words(&format!(
        "Nothing was decided, so every tool asks for a yes. For this story `{}` is decided to be a reading tool; `{}`, harmless too, stays a commit.",
        plan.read.tool, plan.commit.tool
    ));
    let effect = format!("{}=observe", plan.read.tool);
    teller.decided(&format!("`{}` only reads", plan.read.tool));
    teller.run(&world.laptop, &["connection-review", &world.connection, "--effect", &effect, "--yes"])?;
    world.plan = Some(plan);
    Ok(())
}

/// A paired device opens nothing until the person brings the key.
pub(in crate::demo) fn bring_the_key(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("You bring the key to the second device");
    let plan = world.plan()?;
    let arguments = plan.read.arguments.to_string();
    let call = ["invoke", &world.connection, &plan.read.tool, "--arguments", &arguments];
    let (exit, code) = teller.refused(&world.desk, &call)?;
    teller.check(
        (exit, code.as_str()) == (7, "key.required"),
        "Paired, and yet it opens nothing: the service cannot give it the key, it has none.",
    )?;

    teller.typed("laptop", "collie online key-export --yes");
    let exported = world.laptop.run(&["key-export", "--yes", "--stdout-secret"])?;
    world.key_text = exported.out().trim().to_owned();
    teller.output("collie-seal-v2:…   (not shown here)");
    teller.decided("carried the key text from one screen to the other; it never goes through the service");
    let imported =
        teller.run_shown(&world.desk, &["key-import"], exported.stdout.as_slice(), "collie online key-import")?;
    teller.check(
        exported.code == Some(0) && imported.code == Some(0),
        "The desk proved the key by opening the connection before it stored it.",
    )?;
    teller.fact("key_brought", true);
    teller.readers(&[
        ("laptop, desk", "the credential, each in memory for one call at a time"),
        ("service", "ciphertext, as before; neither the key nor the text that carried it"),
    ]);
    Ok(())
}

/// The connection's row as the laptop has it.
pub(super) fn find_row(world: &World) -> Result<Value, Trouble> {
    let data = world.laptop.data(&["connections"])?;
    let rows = data.get("connections").and_then(Value::as_array).cloned().unwrap_or_default();
    let row = rows.iter().filter_map(|entry| entry.get("connection")).find(|row| text(row, "name") == NAME).cloned();
    row.ok_or_else(|| Trouble::new("the laptop does not list the connection", "this is a defect"))
}

pub(super) fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn effects_of(row: &Value) -> Value {
    let rows = row.get("manifest").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pairs = rows.iter().map(|tool| (text(tool, "name"), json!(text(tool, "effect"))));
    Value::Object(pairs.collect())
}
