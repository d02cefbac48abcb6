//! No secret of a whole run is anywhere but where it belongs: not in the database or its log, not in the service's log at TRACE, not in answers, errors, temporary files, nor where other programs of the machine can look.

#[path = "canary/flow.rs"]
mod flow;
#[path = "canary/secrets.rs"]
mod secrets;

use collie_tests::canary::{Hit, Place, Spelling, files_below};
use flow::World;
use secrets::Secrets;
use std::path::Path;

/// Where a secret may be, and has to be: the file or answer that exists to hold it.
struct Home {
    place: Box<dyn Fn(&str) -> bool>,
    secret: Box<dyn Fn(&str) -> bool>,
}

fn home(place: impl Fn(&str) -> bool + 'static, secret: impl Fn(&str) -> bool + 'static) -> Home {
    Home { place: Box::new(place), secret: Box::new(secret) }
}

/// The exceptions, and no others: session tokens in the answer that issues them, the output of `key-export`, the 0600 files of keys and tokens.
fn homes() -> Vec<Home> {
    let mut homes = vec![
        home(
            |place| place.starts_with("answer POST /v1/devices/token "),
            |secret| secret.contains(" access token") || secret.contains(" refresh token"),
        ),
        home(|place| place.starts_with("answer POST /v1/devices/start "), |secret| secret.contains(" device code")),
        home(
            |place| place == "header set-cookie of the page that signs in",
            |secret| secret.starts_with("browser session"),
        ),
        home(|place| place.starts_with("output of key-export ("), |secret| secret.starts_with("sealing key")),
        home(
            |place| place.starts_with("output of key-export --for-public-client"),
            |secret| secret.starts_with("public client's key"),
        ),
        home(|place| place == "file service/keys/token.key", |secret| secret == "token key"),
        home(|place| place == "file service/owner-link", |secret| secret.starts_with("owner link")),
    ];
    for device in ["laptop", "desk"] {
        let file = move |name: &'static str| {
            move |place: &str| {
                place.starts_with(&format!("file {device}/state/services/"))
                    && place.rsplit('/').next().is_some_and(|last| last.starts_with(name))
            }
        };
        homes.push(home(file("device.key"), move |secret| secret == format!("{device} seed")));
        homes.push(home(file("sealing-1.key"), |secret| secret.starts_with("sealing key")));
        homes.push(home(file("session-"), move |secret| {
            secret.starts_with(&format!("{device} access token"))
                || secret.starts_with(&format!("{device} refresh token"))
        }));
    }
    homes
}

/// Hits outside their homes.
fn strays(secrets: &Secrets, places: &[Place]) -> Vec<Hit> {
    let homes = homes();
    let hits = places.iter().flat_map(|place| secrets.canary().search(place));
    hits.filter(|hit| !homes.iter().any(|home| (home.place)(&hit.place) && (home.secret)(&hit.secret))).collect()
}

/// Every file of the world, named from its root.
fn files(root: &Path) -> Vec<Place> {
    let named = |(path, place): (std::path::PathBuf, Place)| {
        let name = path.strip_prefix(root).expect("below the root").display().to_string();
        Place::new(format!("file {name}"), place.bytes)
    };
    files_below(root).into_iter().map(named).collect()
}

fn assert_clean(secrets: &Secrets, when: &str, places: &[Place]) {
    let strays = strays(secrets, places);
    assert!(
        strays.is_empty(),
        "{when}: {} strays\n{}",
        strays.len(),
        strays.iter().map(|hit| format!("{hit:?}")).collect::<Vec<_>>().join("\n")
    );
}

/// The exceptions hold what they are for: the search finds on real files and answers what it is meant to find.
fn assert_at_home(secrets: &Secrets, places: &[Place], wanted: &[(&str, &str)]) {
    for (start, secret) in wanted {
        let found = places
            .iter()
            .filter(|place| place.name.starts_with(start))
            .any(|place| secrets.canary().search(place).iter().any(|hit| hit.secret == *secret));
        assert!(found, "`{secret}` was not found in `{start}…`, where it is");
    }
}

fn assert_private(root: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let private = ["device.key", "sealing-1.key", "session-", "token.key", "owner-link", "collie.db"];
    let mut seen = 0;
    for (path, _) in files_below(root) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if private.iter().any(|start| name.starts_with(start)) {
            seen += 1;
            let mode = std::fs::metadata(&path).expect("is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn no_secret_is_anywhere_but_at_home() {
    let mut world = World::start();
    world.pair_and_share();
    let while_it_runs = files(world.root());
    world.call_and_fail();
    assert_private(world.root());
    let before_the_end = files(world.root());
    world.revoke_and_sign_out();
    let at_the_end = files(world.root());
    let (secrets, places, root) = world.stop();
    let after_the_stop = files(root.path());

    assert_clean(&secrets, "while it runs", &while_it_runs);
    assert_clean(&secrets, "after the calls", &before_the_end);
    assert_clean(&secrets, "after revocation and sign-out", &at_the_end);
    assert_clean(&secrets, "after the service's end", &after_the_stop);
    assert_clean(&secrets, "outputs, logs, answers, requests, processes", &places);

    let files = [
        ("file laptop/state/services/", "laptop seed"),
        ("file desk/state/services/", "sealing key text"),
        ("file desk/state/services/", "desk access token 1"),
        ("file service/keys/token.key", "token key"),
    ];
    assert_at_home(&secrets, &before_the_end, &files);
    let outputs = [
        ("output of key-export (", "sealing key text"),
        ("output of key-export --for-public-client", "public client's key"),
        ("answer POST /v1/devices/token ", "laptop refresh token 1"),
        ("answer POST /v1/devices/start ", "laptop device code"),
        ("header set-cookie of the page that signs in", "browser session"),
    ];
    assert_at_home(&secrets, &places, &outputs);
    let gone = ["desk seed", "desk access token 1", "desk refresh token 1"];
    let left: Vec<_> = at_the_end
        .iter()
        .flat_map(|place| secrets.canary().search(place))
        .filter(|hit| gone.contains(&hit.secret.as_str()))
        .collect();
    assert_eq!(left, [], "a revoked device keeps nothing of its own");
    assert_must_fail(&secrets, root.path());
}

/// The must-fail control: each secret, planted in each spelling into files, a log or an answer of this very run, is a stray.
fn assert_must_fail(secrets: &Secrets, root: &Path) {
    for name in secrets.canary().names() {
        let secret = secrets.value(name);
        let spellings = Spelling::ALL.map(|spelling| [&spelling.write(secret)[..], b"\n"].concat()).concat();
        for file in ["service/collie.db", "laptop/tmp/left-behind", "desk/state/services/current"] {
            let before = std::fs::read(root.join(file)).unwrap_or_default();
            let found = strays(secrets, &[Place::new(format!("file {file}"), [before, spellings.clone()].concat())]);
            for spelling in Spelling::ALL {
                assert!(
                    found.iter().any(|hit| hit.secret == *name && hit.spelling == spelling),
                    "{name} {spelling:?} in {file} was not found"
                );
            }
        }
        for place in [
            "log of the service",
            "answer GET /v1/connections (1)",
            "output of invoke (3)",
            "command line of collie (2)",
        ] {
            assert!(!strays(secrets, &[Place::new(place, secret)]).is_empty(), "{name} in {place} was not found");
        }
    }
    let path = root.join("laptop/tmp/left-behind");
    std::fs::write(&path, secrets.value("bearer")).expect("planted");
    assert!(!strays(secrets, &files(root)).is_empty(), "a file that was left behind was not read");
}
