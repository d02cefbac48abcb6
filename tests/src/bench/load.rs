//! Signed requests beside unsigned ones, in one run against one service: what the signature, the session and the nonce cost.

use super::measure::{Bound, Measure, per_second, timed};
use super::process::resident_mib;
use crate::canary::files_below;
use crate::processes::{Binaries, Device, Service, ServiceOptions, approve_in};
use crate::public_client::{now, random};
use crate::trouble::Trouble;
use sign::request::{BodyHasher, NONCE_HEADER, RequestHead, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign_request};
use sign::{DeviceKey, Secret};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpSocket;

/// Devices that ask at the same time; each may ask 600 times before it has to wait.
const DEVICES: usize = 4;

/// Requests of each device; of them [`CONNECTIONS`] run at a time.
const REQUESTS: usize = 500;

/// Connections of each device.
const CONNECTIONS: usize = 4;

/// Unsigned requests of one network address; it may ask 120 times before it has to wait.
const UNSIGNED: usize = 100;

/// Network addresses that ask unsigned at the same time.
const NETWORKS: u8 = 20;

/// Signed requests per second; each verifies a signature and durably spends a nonce, so the disk decides.
const SIGNED_MIN: f64 = 200.0;

pub(super) fn measure(binaries: &Binaries) -> Result<Vec<Measure>, Trouble> {
    let folder = tempfile::tempdir().map_err(|error| Trouble::new(error.to_string(), "look at TMPDIR"))?;
    let service = Service::start(
        binaries,
        ServiceOptions { log: "warn", ..ServiceOptions::in_folder(&folder.path().join("service")) },
    )?;
    let sessions = pair(binaries, &service, folder.path())?;
    let address: SocketAddr =
        service.authority().parse().map_err(|_| Trouble::new("the service is at no address", "this is a defect"))?;
    let mut signed = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        for _ in 0..CONNECTIONS {
            let requests = (0..REQUESTS / CONNECTIONS).map(|_| session.sign("/v1/whoami")).collect::<Result<_, _>>()?;
            signed.push(Caller { address, from: network(100 + at), requests });
        }
    }
    let plain = b"GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n".to_vec();
    let unsigned = (0..NETWORKS).map(|at| Caller {
        address,
        from: network(10 + usize::from(at)),
        requests: vec![plain.clone(); UNSIGNED],
    });
    let unsigned_rate = run(unsigned.collect())?;
    let signed_rate = run(signed)?;
    Ok(vec![
        Measure::new("unsigned requests (healthz)", unsigned_rate, "per second", Bound::None),
        Measure::new("signed requests (whoami, nonce durable)", signed_rate, "per second", Bound::AtLeast(SIGNED_MIN)),
        Measure::new("cost of a signed request", unsigned_rate / signed_rate, "× unsigned", Bound::None),
        Measure::new("resident memory after the load", resident_mib(&service)?, "MiB", Bound::None),
    ])
}

/// A loopback address of its own for each caller: the service counts by address.
fn network(last: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, u8::try_from(last).unwrap_or(u8::MAX))
}

/// What a device signs with.
struct Session {
    key: DeviceKey,
    access: String,
}

impl Session {
    fn sign(&self, target: &str) -> Result<Vec<u8>, Trouble> {
        let head = RequestHead { method: "GET", raw_target: target, body_sha256: BodyHasher::new().finish() };
        let now_s = u64::try_from(now()).unwrap_or_default();
        let headers = sign_request(&self.key, &head, now_s, &random())
            .map_err(|error| Trouble::new(error.to_string(), "this is a defect"))?;
        Ok(format!(
            "GET {target} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {}\r\n{TIMESTAMP_HEADER}: {}\r\n{NONCE_HEADER}: {}\r\n{SIGNATURE_HEADER}: {}\r\n\r\n",
            self.access, headers.timestamp, headers.nonce, headers.signature
        )
        .into_bytes())
    }
}

/// Pairs all devices at the same time.
fn pair(binaries: &Binaries, service: &Service, folder: &Path) -> Result<Vec<Session>, Trouble> {
    let mut browser = service.sign_in()?;
    let mut waiting = Vec::new();
    for at in 0..DEVICES {
        let name = format!("device-{at}");
        let device = Device::new(binaries, &name, &folder.join(&name))?;
        let pairing = device.start_login(service.origin())?;
        approve_in(&mut browser, &pairing)?;
        waiting.push((device, pairing));
    }
    let paired = waiting.into_iter().map(|(device, pairing)| {
        device.finish_login(pairing)?;
        read_session(&device.state_dir())
    });
    paired.collect()
}

fn read_session(state_dir: &Path) -> Result<Session, Trouble> {
    let files = files_below(state_dir);
    let line = |start: &str, at: usize| {
        let (_, place) = files
            .iter()
            .find(|(path, _)| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))?;
        String::from_utf8(place.bytes.clone()).ok()?.lines().nth(at).map(str::to_owned)
    };
    let key = line("device.key", 1).and_then(|seed| contract::b64u::decode_array(&seed).ok());
    match (key, line("session-", 1)) {
        (Some(seed), Some(access)) => Ok(Session { key: DeviceKey::from_seed(&Secret::new(seed)), access }),
        _ => Err(Trouble::new("a paired device has no key or session", "this is a defect")),
    }
}

/// Requests that one connection sends one after another.
struct Caller {
    address: SocketAddr,
    from: Ipv4Addr,
    requests: Vec<Vec<u8>>,
}

/// All callers at once; answers per second.
fn run(callers: Vec<Caller>) -> Result<f64, Trouble> {
    let failed = |error: std::io::Error| Trouble::new(format!("the load broke: {error}"), "look at the service's log");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let count = callers.iter().map(|caller| caller.requests.len()).sum();
    let (taken, done) = timed(|| {
        runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for caller in callers {
                running.spawn(caller.run());
            }
            while let Some(ended) = running.join_next().await {
                ended.map_err(std::io::Error::other)??;
            }
            Ok(())
        })
    });
    done.map_err(failed)?;
    Ok(per_second(count, taken))
}

impl Caller {
    async fn run(self) -> std::io::Result<()> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((self.from, 0)))?;
        let mut stream = BufReader::new(socket.connect(self.address).await?);
        for request in &self.requests {
            stream.write_all(request).await?;
            read_answer(&mut stream).await?;
        }
        Ok(())
    }
}

async fn read_answer(stream: &mut BufReader<tokio::net::TcpStream>) -> std::io::Result<()> {
    let (mut line, mut length, mut status) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::Error::other("the connection was closed"));
        }
        if status.is_empty() {
            status.clone_from(&line);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    if status.contains(" 200 ") { Ok(()) } else { Err(std::io::Error::other(format!("answered {}", status.trim()))) }
}
