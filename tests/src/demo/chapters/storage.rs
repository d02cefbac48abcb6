//! The service's stored row beside the device's view of the same connection, and a search of everything the service keeps.

use super::share::text;
use crate::canary::key_text_secrets;
use crate::demo::say::shorten;
use crate::demo::stored::{self, StoredRow};
use crate::demo::teller::Teller;
use crate::demo::world::World;
use crate::trouble::Trouble;
use serde_json::{Value, json};

/// Both views, and the search.
pub(in crate::demo) fn look_at_the_service(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("What the service has, beside what a device has");
    let service = world.service()?;
    teller.words("On the left: the row in the service's database file, as a thief of a backup reads it. On the right: the same connection on the laptop.");
    let row = stored::read_row(&service.database_file(), &world.connection)?;
    teller.typed("laptop", &format!("collie online connection-show {}", world.connection));
    let view = world.laptop.data(&["connection-show", &world.connection])?;
    let (left, right) = (service_lines(&row), device_lines(&view));
    teller.beside(("the service's row", &left), ("the laptop's view", &right));
    teller.check(row.seal_format == "v2" && row.sealed.get("payload").is_some(), "The service holds the credential as ciphertext (CLV2), bound to connection, address, review, author and version.")?;
    teller.check(
        text(&view, "vouched_for_by") == "key",
        "The laptop shows what your own key vouches for: the credential opens under exactly this review.",
    )?;
    search(world, teller)?;
    teller.fact("stored", json!({"seal_format": row.seal_format, "credential_version": row.credential_version, "review_seq": row.review_seq}));
    teller.fact("vouched_for_by", text(&view, "vouched_for_by"));
    teller.readers(&[
        ("service, its backups", "names, address, tools, effects, times, ciphertext; no credential, no key, no call"),
        ("laptop, desk", "the same, and with the key the credential for one call at a time"),
    ]);
    Ok(())
}

/// The secrets of this run, in ten spellings, in everything the service keeps and logged.
fn search(world: &World, teller: &mut Teller) -> Result<(), Trouble> {
    let service = world.service()?;
    let log = service.process().err_so_far();
    let [_, _, key] = key_text_secrets(&world.key_text).ok_or_else(|| {
        Trouble::new("the exported key text is not of the form that is known here", "this is a defect")
    })?;
    let mut secrets = vec![("Your sealing key", key)];
    secrets.extend(world.target.bearer.iter().map(|token| ("The bearer token", token.clone().into_bytes())));
    let mut found_at_all = 0;
    for (name, secret) in secrets {
        let (bytes, found) = stored::search(service.state_dir(), &log, &secret);
        found_at_all += found;
        teller.check(found == 0, &format!("{name}, searched in {bytes} bytes of database, write-ahead log, files and log, in ten spellings and in pieces of eight bytes: not found."))?;
    }
    teller.fact("secrets_found_at_service", found_at_all);
    Ok(())
}

fn service_lines(row: &StoredRow) -> Vec<String> {
    let blob = |name: &str| match row.sealed.get(name).and_then(Value::as_str) {
        Some(text) => format!("{:<11} {} ({} characters)", name, shorten(text, 18), text.len()),
        None => format!("{name:<11} –"),
    };
    vec![
        format!("name        {}", row.name),
        format!("address     {}", row.endpoint),
        format!("state       {}", row.status),
        format!("review      number {}", row.review_seq),
        format!("credential  version {}, {}", row.credential_version, row.seal_format),
        blob("dek"),
        blob("payload"),
    ]
}

fn device_lines(view: &Value) -> Vec<String> {
    let row = view.get("connection").cloned().unwrap_or_default();
    let number = |name: &str| row.get(name).and_then(Value::as_u64).unwrap_or_default();
    let here = view.get("on_this_device").and_then(Value::as_bool) == Some(true);
    let tools = view.pointer("/review/tools").and_then(Value::as_array).map_or(0, Vec::len);
    vec![
        format!("name        {}", text(&row, "name")),
        format!("address     {}", text(&row, "endpoint")),
        format!("state       {}", text(&row, "status")),
        format!("review      number {}, {tools} tools decided", number("review_seq")),
        format!(
            "credential  version {}, {}",
            number("credential_version"),
            if here { "opens here" } else { "not here" }
        ),
        format!("vouched by  {}", if text(view, "vouched_for_by") == "key" { "your own key" } else { "nothing here" }),
    ]
}
