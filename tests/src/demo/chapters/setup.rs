//! The start, the owner's sign-in and the pairing of two devices.

use crate::demo::teller::Teller;
use crate::demo::world::{World, short_path};
use crate::processes::{Lab, Service, ServiceOptions, approve_in, line};
use crate::trouble::Trouble;

/// The service on SQLite, and the lab where no other server was named; both on free loopback ports.
pub(in crate::demo) fn start(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("The service starts");
    let folder = world.service_folder();
    teller.typed("server", &format!("collie-broker --listen 127.0.0.1:0 --state-dir {}", short_path(world, &folder)));
    let service = Service::start(&world.binaries, ServiceOptions::in_folder(&folder))?;
    let origin = service.origin().to_owned();
    teller.check(
        origin.starts_with("http://127.0.0.1:"),
        &format!("It answers at {origin}, on this machine only, and stores in one SQLite file."),
    )?;
    teller.fact("origin", origin);
    world.service = Some(service);
    if world.target.url.is_empty() {
        let token = world.target.bearer.clone().unwrap_or_default();
        let lab = Lab::start_plain(&world.binaries, &token)?;
        world.target.url = lab.mcp_url().to_owned();
        teller.words(&format!(
            "Somebody else's MCP server runs at {}. It gave you a bearer token; nobody here has seen it yet.",
            world.target.url
        ));
        world.target.lab = Some(lab);
    }
    teller.fact("mcp_server", if world.target.lab.is_some() { "lab" } else { "url" });
    Ok(())
}

/// The owner link, used once.
pub(in crate::demo) fn sign_in(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("You sign in as the owner");
    let service = world.service()?;
    let file = short_path(world, &service.owner_link_file());
    teller.words(&format!("At its first start the service makes a one-time link, for its own terminal or, without one, for {file} (mode 0600). It is in no log."));
    let mut browser = service.sign_in()?;
    teller.decided("opened the link in a browser and pressed “Sign this browser in”");
    let again = crate::browser::Browser::default().open(&service.read_owner_link()?)?;
    teller.check(again.status == 404, "The link worked once; a second browser gets nothing from it.")?;
    let home = browser.open(service.origin())?;
    teller.check(home.text().contains("No device is paired yet"), "The page lists your devices: none yet.")?;
    world.browser = browser;
    Ok(())
}

/// The first device by the page, the second one by the first.
pub(in crate::demo) fn pair(world: &mut World, teller: &mut Teller) -> Result<(), Trouble> {
    teller.chapter("Two devices are paired");
    let origin = world.service()?.origin().to_owned();
    let login = ["login", "--server", &origin];

    teller.typed("laptop", &line(&login));
    let pairing = world.laptop.start_login(&origin)?;
    teller.output(&format!(
        "Open {}\nConfirm that this device shows code: {}\nfingerprint: {}",
        pairing.page, pairing.user_code, pairing.fingerprint
    ));
    let (code, fingerprint) = (pairing.user_code.clone(), pairing.fingerprint.clone());
    approve_in(&mut world.browser, &pairing)?;
    teller.decided(&format!("typed {code} on the page, compared {fingerprint}, pressed “Bind this device”"));
    teller.output(last_line(&world.laptop.finish_login(pairing)?.out()));

    teller.words("The second device is bound from the first one; the page would do as well.");
    teller.typed("desk", &line(&login));
    let pairing = world.desk.start_login(&origin)?;
    teller.output(&format!(
        "Confirm that this device shows code: {}\nfingerprint: {}",
        pairing.user_code, pairing.fingerprint
    ));
    let (code, fingerprint) = (pairing.user_code.clone(), pairing.fingerprint.clone());
    teller.decided(&format!("compared {fingerprint} on both screens"));
    teller.run(&world.laptop, &["device-approve", &code, "--fingerprint", &fingerprint])?;
    teller.output(last_line(&world.desk.finish_login(pairing)?.out()));

    let devices = world.laptop.data(&["devices"])?;
    let count = devices.get("devices").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
    teller.check(count == 2, "The account has two devices, each with a key of its own that never left it.")?;
    teller.fact("devices_paired", count);
    teller.readers(&[
        ("service", "your name, two device names and public keys, times; stores session tokens only as HMACs"),
        ("laptop, desk", "their own device key and session, in files of mode 0600"),
        ("MCP server", "nothing yet"),
    ]);
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}
