//! Event streams as a server may write them, plain or noisy. Never reads one.

use crate::script::Step;
use bytes::Bytes;

/// What one event stream carries.
pub(crate) struct Stream<'a> {
    /// The request's id as it is written, for events that only look like its answer.
    pub(crate) id: &'a str,
    /// Messages before the answer.
    pub(crate) notes: Vec<String>,
    /// The answer; without one the stream just ends.
    pub(crate) answer: Option<Bytes>,
    /// Everything the format allows and a careless reader trips over.
    pub(crate) noisy: bool,
    /// Goes on with notifications for ever.
    pub(crate) endless: bool,
}

/// The steps that write a stream, one event each.
pub(crate) fn stream(stream: &Stream<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut push = |bytes: Vec<u8>| steps.push(Step::Bytes(Bytes::from(bytes)));
    if stream.noisy {
        // A byte order mark, a comment, a reconnection time, and an event with an id and empty data.
        push(b"\xef\xbb\xbf: good morning\nretry: 3000\nid: lab-0\ndata:\n\n".to_vec());
        // An event type that is not `message`, whose data looks like an answer.
        push(format!("event: weather\ndata: {}\n\n", lookalike(stream.id, "sunny")).into_bytes());
        // Fields that are not known, a field without a colon, and events without data.
        push(b"colour: blue\nnonsense\n\nid\n\n:\n\n".to_vec());
    }
    for (at, note) in stream.notes.iter().enumerate() {
        push(event(note.as_bytes(), at + 1, stream.noisy));
    }
    if let Some(answer) = &stream.answer {
        push(event(answer, stream.notes.len() + 1, stream.noisy));
    }
    if stream.noisy && stream.answer.is_some() {
        // The stream ends inside an event, which is therefore none.
        push(format!(": good night\ndata: {}", lookalike(stream.id, "late")).into_bytes());
    }
    if stream.endless {
        steps.push(Step::Repeat(Bytes::from_static(
            b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1,\"progressToken\":1}}\n\n",
        )));
    }
    steps
}

fn lookalike(id: &str, member: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{member}":true}}}}"#)
}

/// One event; a noisy one has CR LF line ends, an id, and one data field per line of its data.
fn event(data: &[u8], number: usize, noisy: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let end: &[u8] = if noisy { b"\r\n" } else { b"\n" };
    if noisy {
        out.extend_from_slice(format!("id: lab-{number}\r\n").as_bytes());
    }
    out.extend_from_slice(b"event: message");
    out.extend_from_slice(end);
    for (at, line) in data.split(|byte| *byte == b'\n').enumerate() {
        // One blank after the colon belongs to the field; leaving it out is as good.
        out.extend_from_slice(if noisy && at % 2 == 1 && !line.starts_with(b" ") { b"data:" } else { b"data: " });
        out.extend_from_slice(line);
        out.extend_from_slice(end);
    }
    out.extend_from_slice(end);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_data_stands_on_many_lines() {
        let text = String::from_utf8(event(b"{\n\"a\":1\n}", 1, true)).expect("text");
        assert_eq!(text, "id: lab-1\r\nevent: message\r\ndata: {\r\ndata:\"a\":1\r\ndata: }\r\n\r\n");
    }
}
