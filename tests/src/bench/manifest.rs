//! The digest of a raw manifest beside what any JSON library does with the same bytes: what exactness costs before every commit.

use super::measure::{Bound, Measure, median, ms, timed};
use crate::trouble::Trouble;
use contract::cjson;
use contract::manifest::RawManifest;
use serde_json::{Value, json};
use std::hint::black_box;

/// Tools of the manifest.
const TOOLS: usize = 200;

/// Rounds of each kind.
const ROUNDS: usize = 40;

/// Reading strictly, putting into canonical form and hashing may take this many times a plain round trip.
const COST_MAX: f64 = 10.0;

pub(super) fn measure() -> Result<Vec<Measure>, Trouble> {
    let bytes = manifest().to_string().into_bytes();
    digest(&bytes)?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(ms(timed(|| black_box(digest(black_box(&bytes)).is_ok())).0));
        plain.push(ms(timed(|| black_box(round_trip(black_box(&bytes)))).0));
    }
    let (ours, plain) = (median(ours), median(plain));
    let kib = u32::try_from(bytes.len()).map_or(0.0, f64::from) / 1024.0;
    Ok(vec![
        Measure::new("size of the measured manifest", kib, "KiB", Bound::None),
        Measure::new("manifest digest", ours, "ms", Bound::None),
        Measure::new("serde_json round trip", plain, "ms", Bound::None),
        Measure::new("cost of the digest", ours / plain, "× serde_json", Bound::AtMost(COST_MAX)),
    ])
}

fn digest(bytes: &[u8]) -> Result<contract::Digest, Trouble> {
    let failed = |error: &dyn std::fmt::Display| {
        Trouble::new(format!("the bench's manifest is refused: {error}"), "this is a defect")
    };
    let read = cjson::parse(bytes, bytes.len()).map_err(|error| failed(&error))?;
    Ok(RawManifest::from_json(&read).map_err(|error| failed(&error))?.digest())
}

fn round_trip(bytes: &[u8]) -> Vec<u8> {
    serde_json::from_slice::<Value>(bytes).and_then(|value| serde_json::to_vec(&value)).unwrap_or_default()
}

/// A manifest as a large server has it.
fn manifest() -> Value {
    let tools = (0..TOOLS).map(|at| {
        json!({
            "name": format!("tool_{at}"),
            "title": format!("Tool number {at}"),
            "description": "Does one thing to one note, says what it did, and touches nothing else. Größe, 標籤, 🏷. ".repeat(4),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Title of the note.", "minLength": 1, "maxLength": 200},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
                    "weight": {"type": "number", "multipleOf": 0.25},
                    "labels": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}
                },
                "required": ["name"],
                "additionalProperties": false
            },
            "annotations": {"readOnlyHint": at % 2 == 0, "openWorldHint": false}
        })
    });
    let tools: Vec<Value> = tools.collect();
    match RawManifest::from_tools(
        "Notes for one person.",
        tools.iter().filter_map(|tool| cjson::parse(tool.to_string().as_bytes(), 1 << 20).ok()).collect(),
    ) {
        Ok(manifest) => serde_json::from_slice(&manifest.to_json().canonical()).unwrap_or_default(),
        Err(_) => Value::Null,
    }
}
