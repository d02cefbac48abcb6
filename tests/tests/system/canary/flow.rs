//! A whole run with planted secrets, in which much goes wrong: everything a person, a server and a network do to a credential.

use super::secrets::Secrets;
use collie_tests::browser::Browser;
use collie_tests::canary::Place;
use collie_tests::processes::{Binaries, Device, Lab, Seen, Service, ServiceOptions, approve_in};
use collie_tests::public_client::{b64u, random};
use collie_tests::recorder::Recorder;
use serde_json::{Value, json};
use std::path::Path;

/// The run.
pub(crate) struct World {
    root: tempfile::TempDir,
    service: Service,
    recorder: Recorder,
    labs: [Lab; 2],
    browser: Browser,
    laptop: Device,
    desk: Device,
    secrets: Secrets,
    /// Outputs that exist to print a secret.
    exports: Vec<Place>,
    /// What others could see of processes that ran long.
    seen: Vec<Seen>,
    notes: String,
    keyed: String,
}

const HEADER: &str = "X-Lab-Key";

/// A random text with nothing in it that anything else has.
fn plant() -> String {
    b64u(random::<30>())
}

impl World {
    /// A service that logs at TRACE, two labs with a planted bearer and a planted header, two devices that reach the service through a recorder.
    pub(crate) fn start() -> Self {
        let binaries = Binaries::find().expect("the programs are built");
        let root = tempfile::tempdir().expect("a folder");
        let mut secrets = Secrets::default();
        let (bearer, header) = (plant(), plant());
        secrets.add("bearer", bearer.as_bytes());
        secrets.add("header value", header.as_bytes());
        let options = ServiceOptions { log: "trace", ..ServiceOptions::in_folder(&root.path().join("service")) };
        let service = Service::start(&binaries, options).expect("starts");
        secrets.add("token key", &std::fs::read(service.state_dir().join("keys/token.key")).expect("a token key"));
        let link = service.read_owner_link().expect("an owner link");
        secrets.add_token("owner link", link.rsplit_once("/owner/").expect("a link").1);
        let browser = service.sign_in().expect("signs in");
        secrets.add_token("browser session", browser.cookie_values().next().expect("a cookie"));
        let recorder = Recorder::start(service.authority()).expect("starts");
        let labs = [
            Lab::start_plain(&binaries, &bearer).expect("starts"),
            Lab::start_with_header(&binaries, HEADER, &header).expect("starts"),
        ];
        let device = |name: &str| {
            Device::new(&binaries, name, &root.path().join(name))
                .expect("a device")
                .with_environment("RUST_LOG", "trace")
        };
        let (laptop, desk) = (device("laptop"), device("desk"));
        let (exports, seen, notes, keyed) = (Vec::new(), Vec::new(), String::new(), String::new());
        Self { root, service, recorder, labs, browser, laptop, desk, secrets, exports, seen, notes, keyed }
    }

    /// The folder that holds everything.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Two devices, three connections: by bearer, by header, and by bearer in the public client's format; keys carried over.
    pub(crate) fn pair_and_share(&mut self) {
        for (name, device) in [("laptop", &self.laptop), ("desk", &self.desk)] {
            let pairing = device.start_login(self.recorder.origin()).expect("a code");
            self.secrets.add_pairing(name, &device.state_dir());
            approve_in(&mut self.browser, &pairing).expect("bound");
            device.finish_login(pairing).expect("connected");
            self.secrets.add_device(name, &device.state_dir(), 1);
        }
        self.notes = self.share("notes", self.labs[0].mcp_url(), &["--bearer-stdin"], "bearer");
        self.keyed = self.share("keyed", self.labs[1].mcp_url(), &["--header", HEADER], "header value");
        self.share("public", self.labs[0].mcp_url(), &["--bearer-stdin", "--for-public-client"], "bearer");
        self.carry_keys();
    }

    fn share(&self, name: &str, url: &str, credential: &[&str], secret: &str) -> String {
        let share =
            [&["share-mcp", name, "--url", url, "--effect", "list_notes=observe", "--yes"], credential].concat();
        let stdin = [self.secrets.value(secret), b"\n"].concat();
        let data = self.laptop.data_with(&share, &stdin).expect("shared");
        data.pointer("/connection/id").and_then(Value::as_str).expect("an id").to_owned()
    }

    fn carry_keys(&mut self) {
        let export = ["key-export", "--yes", "--stdout-secret"];
        let exported = self.laptop.run_apart(&export).expect("exported");
        self.secrets.add_key_text(&exported.out());
        let public = self.laptop.run_apart(&[&export[..], &["--for-public-client"]].concat()).expect("exported");
        self.secrets.add_public_key_text(&public.out());
        // A typing mistake first: its error tells nothing of what was typed.
        let mut typo = exported.stdout.clone();
        let last = typo.len() - 3;
        typo[last] = if typo[last] == b'7' { b'8' } else { b'7' };
        assert_ne!(self.desk.run_with(&["key-import"], &typo).expect("ends").code, Some(0));
        for finished in [&exported, &public] {
            let imported = self.desk.run_with(&["key-import"], &finished.stdout).expect("ends");
            assert_eq!(imported.code, Some(0), "{}", imported.err());
        }
        for (name, finished) in [("key-export", &exported), ("key-export --for-public-client", &public)] {
            self.exports.push(Place::new(format!("output of {name} (stdout)"), finished.stdout.clone()));
            self.exports.push(Place::new(format!("errors of {name}"), finished.stderr.clone()));
            self.seen.push(finished.seen.clone());
        }
    }

    /// Calls that work, echo, hang, break off, are refused; credentials that are wrong and that are replaced.
    pub(crate) fn call_and_fail(&mut self) {
        let (notes, keyed) = (self.notes.clone(), self.keyed.clone());
        for device in [&self.laptop, &self.desk] {
            for id in [&notes, &keyed] {
                device.data(&["invoke", id, "list_notes"]).expect("a reading call");
            }
        }
        self.echo(&notes, 0);
        self.echo(&keyed, 1);
        self.hang(&notes);
        self.break_off(&notes);
        self.wrong_credential();
        self.replace_credential(&notes);
        let lines: [&[&str]; 6] = [
            &["status"],
            &["connections"],
            &["connection-show", &notes],
            &["connection-test", &notes],
            &["doctor"],
            &["devices"],
        ];
        for device in [&self.laptop, &self.desk] {
            for line in lines {
                device.run(line).expect("ends");
                device.run(&[line, &["--json"]].concat()).expect("ends");
            }
        }
    }

    /// The server sends the credential back, in every place and form it knows.
    fn echo(&self, id: &str, lab: usize) {
        let forms = ["raw", "base64", "base64_url", "hex", "url_encoded", "json_escaped"];
        for place in ["result", "key", "error", "refusal", "header"] {
            for form in forms {
                self.labs[lab].control(&json!({"set": {"echo": {"place": place, "form": form}}})).expect("set");
                // Whether it counts as an answer or as a failure, nothing of the credential comes through.
                self.laptop.run(&["invoke", id, "list_notes"]).expect("ends");
                self.laptop.run(&["invoke", id, "list_notes", "--json"]).expect("ends");
            }
        }
        for form in ["raw", "split_events", "split_frames"] {
            self.labs[lab]
                .control(&json!({"set": {"answer": "sse", "echo": {"place": "event", "form": form}}}))
                .expect("set");
            self.laptop.run(&["invoke", id, "list_notes", "--json"]).expect("ends");
        }
        self.labs[lab].control(&json!("reset")).expect("reset");
    }

    /// A call that hangs in the middle: what others see of a process that holds the opened credential.
    fn hang(&mut self, id: &str) {
        let lab = &self.labs[0];
        lab.control(&json!({"fault": {"kind": "hang_before", "tool": "list_notes", "times": 1}})).expect("armed");
        let running = self.laptop.start(&["invoke", id, "list_notes", "--json"], b"").expect("starts");
        lab.wait_hanging().expect("it hangs");
        self.seen.push(running.look());
        lab.control(&json!("release")).expect("released");
        let finished = running.finish().expect("ends");
        self.exports.push(Place::new("output of a call that hung", [finished.stdout, finished.stderr].concat()));
    }

    fn break_off(&self, id: &str) {
        for kind in ["drop_before", "drop_after", "drop_midway", "no_answer"] {
            self.labs[0].control(&json!({"fault": {"kind": kind, "tool": "list_notes", "times": 1}})).expect("armed");
            self.laptop.run(&["invoke", id, "list_notes", "--json"]).expect("ends");
        }
        self.labs[0].control(&json!("reset")).expect("reset");
    }

    /// Refused at the door: the error names no credential.
    fn wrong_credential(&mut self) {
        let wrong = plant();
        self.secrets.add("wrong bearer", wrong.as_bytes());
        for arguments in [&["--bearer-stdin"][..], &["--header", HEADER]] {
            for json in [&[][..], &["--json"]] {
                let line =
                    [&["share-mcp", "wrong", "--url", self.labs[1].mcp_url(), "--yes"], arguments, json].concat();
                let finished = self.laptop.run_with(&line, wrong.as_bytes()).expect("ends");
                assert_ne!(finished.code, Some(0), "{}", finished.out());
            }
        }
    }

    /// A new credential in place of the old one: this server would refuse it, so it stays with the header's lab.
    fn replace_credential(&mut self, id: &str) {
        let before = self.labs[0].seen().expect("seen");
        let same = [self.secrets.value("bearer"), b"\n"].concat();
        let finished =
            self.laptop.run_with(&["connection-review", id, "--bearer-stdin", "--yes", "--json"], &same).expect("ends");
        assert_eq!(finished.code, Some(0), "{}", finished.out());
        assert!(before["counts"]["refused"].is_u64());
    }

    /// The desk is revoked and finds out; the laptop connects again as a new device, and signs out.
    pub(crate) fn revoke_and_sign_out(&mut self) {
        let desk = self.desk.data(&["whoami"]).expect("whoami")["device_id"].as_str().expect("an id").to_owned();
        self.laptop.data(&["device-revoke", &desk, "--yes"]).expect("revoked");
        let (exit, error) = self.desk.refusal(&["invoke", &self.notes, "list_notes"]).expect("refused");
        assert_eq!((exit, &error["code"]), (3, &json!("session.revoked")));
        self.laptop.data(&["logout"]).expect("signed out");
    }

    /// Ends everything, and hands over what is to be searched: outputs, logs, exchanges, pages, processes.
    pub(crate) fn stop(mut self) -> (Secrets, Vec<Place>, tempfile::TempDir) {
        self.seen.push(self.service.look());
        self.seen.extend(self.labs.iter().map(Lab::look));
        let mut places = std::mem::take(&mut self.exports);
        for device in [&self.laptop, &self.desk] {
            for (at, run) in device.runs().into_iter().enumerate() {
                places.push(Place::new(format!("output of {} run {at} (stdout)", device.name()), run.stdout));
                places.push(Place::new(format!("output of {} run {at} (stderr)", device.name()), run.stderr));
                self.seen.push(run.seen);
            }
        }
        for (at, seen) in self.seen.iter().enumerate() {
            assert!(!seen.command_line.is_empty(), "the command line of {} could not be read", seen.program);
            places.push(Place::new(format!("command line of {} ({at})", seen.program), seen.command_line.clone()));
            places.push(Place::new(format!("environment of {} ({at})", seen.program), seen.environment.clone()));
        }
        places.extend(pages(&self.browser));
        places.extend(exchanges(&self.recorder, &self.secrets));
        let (finished, _) = self.service.stop().expect("stops");
        assert!(
            finished.err().contains("\"level\":\"TRACE\"") || finished.err().contains("\"level\":\"DEBUG\""),
            "the log is not at TRACE"
        );
        places.push(Place::new("log of the service", finished.stderr));
        places.push(Place::new("output of the service", finished.stdout));
        (self.secrets, places, self.root)
    }
}

/// Pages as a browser was shown them, the one header that sets the session apart.
fn pages(browser: &Browser) -> Vec<Place> {
    let mut places = Vec::new();
    for (at, answer) in browser.history().iter().enumerate() {
        for (name, value) in &answer.headers {
            let place = if name == "set-cookie" {
                "header set-cookie of the page that signs in".to_owned()
            } else {
                format!("header {name} of page {at}")
            };
            places.push(Place::new(place, value.as_bytes()));
        }
        places.push(Place::new(format!("page {at}"), answer.body.clone()));
    }
    places
}

/// Answers whole; of requests what the service must never be sent, which is everything but tokens and codes of its own making.
fn exchanges(recorder: &Recorder, secrets: &Secrets) -> Vec<Place> {
    let exchanges = recorder.exchanges();
    assert!(
        exchanges.iter().any(|exchange| exchange.line.contains("/credential")),
        "the recorder saw no sealed credential"
    );
    let mut places = Vec::new();
    for (at, exchange) in exchanges.into_iter().enumerate() {
        let own = |name: &str| {
            name.contains(" token ")
                || name.ends_with("device code")
                || name.contains("verifier")
                || name.ends_with("device code bytes")
        };
        let hits = secrets.canary().search(&Place::new(format!("request {} ({at})", exchange.line), exchange.request));
        let strays: Vec<_> = hits.into_iter().filter(|hit| !own(&hit.secret)).collect();
        assert_eq!(strays, [], "the service was sent what it must not know");
        places.push(Place::new(format!("answer {} ({at})", exchange.line), exchange.answer));
    }
    places
}
