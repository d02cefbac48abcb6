//! Event streams (the `text/event-stream` format of the HTML standard) read from bytes. Never holds more than its maximum and never panics, however the bytes are cut.

/// Why a stream is not read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    /// One event holds more bytes than allowed.
    #[error("an event is larger than {max} bytes")]
    EventTooLarge { max: usize },
    /// More events than allowed.
    #[error("more than {max} events")]
    TooManyEvents { max: usize },
}

/// Cuts a stream of bytes into the data of its `message` events. Events of another type, ids and retry times are not used by us.
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_message: bool,
    after_cr: bool,
    at_start: bool,
    count: usize,
    bytes_max: usize,
    events_max: usize,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Events {
    pub(crate) const fn new(bytes_max: usize, events_max: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_message: true,
            after_cr: false,
            at_start: true,
            count: 0,
            bytes_max,
            events_max,
        }
    }

    /// Takes the next bytes and gives the data of the events that they complete. An event that the stream does not complete is none.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, SseError> {
        let mut complete = Vec::new();
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => complete.extend(self.end_line()?),
                _ => self.push(byte)?,
            }
        }
        Ok(complete)
    }

    fn push(&mut self, byte: u8) -> Result<(), SseError> {
        if self.line.len() + self.data.len() >= self.bytes_max {
            return Err(SseError::EventTooLarge { max: self.bytes_max });
        }
        self.line.push(byte);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Vec<u8>>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::replace(&mut self.at_start, false) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default()),
            None => (line.as_slice(), &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.is_message = value.is_empty() || value == b"message",
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<Vec<u8>>, SseError> {
        let data = std::mem::take(&mut self.data);
        let is_message = std::mem::replace(&mut self.is_message, true);
        if !std::mem::replace(&mut self.has_data, false) {
            return Ok(None);
        }
        self.count += 1;
        if self.count > self.events_max {
            return Err(SseError::TooManyEvents { max: self.events_max });
        }
        Ok(is_message.then_some(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> Result<Vec<Vec<u8>>, SseError> {
        Events::new(64, 8).feed(bytes)
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        whole(bytes).expect("fits").into_iter().map(|data| String::from_utf8(data).expect("text")).collect()
    }

    #[test]
    fn the_format_is_read_as_the_standard_says() {
        for (stream, events) in [
            ("data: a\n\n", vec!["a"]),
            ("data: a\r\n\r\n", vec!["a"]),
            ("data: a\r\r", vec!["a"]),
            ("data: a\n\r\n", vec!["a"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data:a\ndata:  b\n\n", vec!["a\n b"]),
            ("data\n\n", vec![""]),
            ("data:\ndata:\n\n", vec!["\n"]),
            (": comment\nid: 1\nevent: message\nretry: 5\nunknown\ndata: a\n\n", vec!["a"]),
            ("event: nothing\n\n\n\ndata: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("event: other\ndata: a\n\ndata: b\n\n", vec!["b"]),
            ("event: other\nevent: message\ndata: a\n\nevent:\ndata: b\n\n", vec!["a", "b"]),
            ("data: cut off\n", vec![]),
            ("data: cut off", vec![]),
            ("Data: a\n\n data: b\n\n", vec![]),
            ("data: a\n\u{feff}data: b\n\n", vec!["a"]),
        ] {
            assert_eq!(texts(stream.as_bytes()), events, "{stream:?}");
        }
    }

    #[test]
    fn long_events_and_long_streams_are_refused() {
        assert_eq!(whole(&[b'x'; 65]), Err(SseError::EventTooLarge { max: 64 }));
        assert_eq!(whole("data: 12345678\n".repeat(9).as_bytes()), Err(SseError::EventTooLarge { max: 64 }));
        assert_eq!(whole("data: 1\n\n".repeat(9).as_bytes()), Err(SseError::TooManyEvents { max: 8 }));
        assert_eq!(whole(":\n\n".repeat(99).as_bytes()), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_events(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(0xef), any::<u8>(),
            ], 0..300),
            cuts in proptest::collection::vec(0usize..300, 0..10),
        ) {
            let mut cuts = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect::<Vec<_>>();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let mut events = Events::new(64, 8);
            let mut start = 0;
            let pieces = cuts.into_iter().try_fold(Vec::new(), |mut all, end| {
                all.extend(events.feed(&bytes[start..end])?);
                start = end;
                Ok(all)
            });
            prop_assert_eq!(pieces, whole(&bytes));
        }

        #[test]
        fn data_over_many_lines_comes_back(lines in proptest::collection::vec("[a-z:é ]{0,8}", 1..5), end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]) {
            let mut stream = lines.iter().map(|line| format!("data: {line}{end}")).collect::<String>();
            stream.push_str(end);
            prop_assert_eq!(texts(stream.as_bytes()), vec![lines.join("\n")]);
        }
    }
}
