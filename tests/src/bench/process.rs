//! The service as a process: time from its start to its first answer, and the memory it holds when nobody asks.

use super::measure::{Bound, Measure, median, ms, timed};
use crate::plain_http::Request;
use crate::processes::{Binaries, Service, ServiceOptions};
use crate::trouble::Trouble;
use std::path::Path;

/// Starts that are measured of each kind.
const STARTS: usize = 7;

/// Start to first answer, milliseconds.
const START_MS_MAX: f64 = 300.0;

/// Resident memory when idle, MiB.
const IDLE_MIB_MAX: f64 = 40.0;

pub(super) fn measure(binaries: &Binaries) -> Result<Vec<Measure>, Trouble> {
    let folder = tempfile::tempdir().map_err(|error| Trouble::new(error.to_string(), "look at TMPDIR"))?;
    let (mut first, mut again, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..STARTS {
        let state_dir = folder.path().join(round.to_string());
        for starts in [&mut first, &mut again] {
            let (taken, service) = start(binaries, &state_dir)?;
            starts.push(taken);
            idle.push(resident_mib(&service)?);
            service.stop()?;
        }
    }
    Ok(vec![
        Measure::new("start to first answer, first start", median(first), "ms", Bound::AtMost(START_MS_MAX)),
        Measure::new("start to first answer, later start", median(again), "ms", Bound::AtMost(START_MS_MAX)),
        Measure::new("idle resident memory", idle.into_iter().fold(0.0, f64::max), "MiB", Bound::AtMost(IDLE_MIB_MAX)),
    ])
}

/// From the start of the process until it has answered over HTTP.
fn start(binaries: &Binaries, state_dir: &Path) -> Result<(f64, Service), Trouble> {
    let (taken, service) = timed(|| {
        let service = Service::start(binaries, ServiceOptions::in_folder(state_dir))?;
        let answer = Request::get(&format!("{}/readyz", service.origin())).send()?;
        if answer.status == 200 {
            Ok(service)
        } else {
            Err(Trouble::new(format!("readyz says {}", answer.text()), "look at the log"))
        }
    });
    Ok((ms(taken), service?))
}

/// `VmRSS` of a process.
pub(super) fn resident_mib(service: &Service) -> Result<f64, Trouble> {
    let path = format!("/proc/{}/status", service.process().id());
    let status =
        std::fs::read_to_string(&path).map_err(|error| Trouble::new(format!("{path}: {error}"), "this needs Linux"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().split(' ').next()?.parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or_else(|| Trouble::new(format!("{path} has no VmRSS"), "this needs Linux"))
}
