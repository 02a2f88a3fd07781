//! Bytes to server-sent events, cut anywhere.
//!
//! Only what completions need: the `data` of each event. Comments and other
//! fields are dropped here; that bytes arrived at all is what keeps the idle
//! timer quiet, so keep-alive comments count there.

/// Collects bytes and gives back the data of whole events.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_return: bool,
    started: bool,
}

impl EventReader {
    /// Takes the next bytes; returns the events they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        // Whole lines are read where they lie; only one that was cut is collected.
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            if self.line.is_empty() {
                events.extend(self.take_line(line));
            } else {
                self.line.extend_from_slice(line);
                events.extend(self.end_line());
            }
            bytes = match rest {
                [b'\r', b'\n', after @ ..] => after,
                [first, after @ ..] => {
                    self.after_return = *first == b'\r' && after.is_empty();
                    after
                }
                [] => rest,
            };
        }
        self.line.extend_from_slice(bytes);
        events
    }

    /// The stream is over; the data of an event that no blank line closed.
    pub fn finish(&mut self) -> Option<String> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.take_data()
    }

    fn end_line(&mut self) -> Option<String> {
        let mut line = std::mem::take(&mut self.line);
        let event = self.take_line(&line);
        line.clear();
        self.line = line;
        event
    }

    fn take_line(&mut self, mut line: &[u8]) -> Option<String> {
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.take_data();
        }
        if let Some(value) = line.strip_prefix(b"data") {
            let value = match value {
                [] => value,
                [b':', b' ', rest @ ..] | [b':', rest @ ..] => rest,
                _ => return None,
            };
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        None
    }

    fn take_data(&mut self) -> Option<String> {
        let data = self.data.take()?;
        let text = String::from_utf8(data);
        Some(text.unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<String> {
        let mut reader = EventReader::default();
        let mut events: Vec<String> = chunks.iter().flat_map(|c| reader.push(c)).collect();
        events.extend(reader.finish());
        events
    }

    #[test]
    fn comments_and_other_fields_are_dropped_and_lines_joined() {
        let stream = "\u{feff}: PROCESSING\r\n\r\nevent: x\nid: 7\ndata: a\r\rdata:b\ndata\ndata:  c\n\ndatax: no\n\ndata: [DONE]";
        assert_eq!(read(&[stream.as_bytes()]), ["a", "b\n\n c", "[DONE]"]);
    }

    proptest! {
        #[test]
        fn cutting_anywhere_changes_nothing(
            lines in prop::collection::vec(prop_oneof![
                "data: [a-zà-ÿ{}\"]{0,12}", ": [a-z]{0,5}", Just(String::new()), "[a-z: ]{0,9}",
            ], 0..20),
            end in prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let stream = lines.join(end).into_bytes();
            let whole = read(&[&stream]);
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            places.extend([0, stream.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|w| &stream[w[0]..w[1]]).collect();
            prop_assert_eq!(read(&pieces), whole);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&[&bytes]);
        }
    }
}
