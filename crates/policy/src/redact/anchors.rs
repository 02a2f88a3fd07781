//! The one pass: where could something begin?

use butler_protocol::Secret;

use super::{
    assignment,
    automaton::{Automaton, Hit},
    known::Known,
    lists::{COOKIES, FOREIGN, NAMES, NETS, NETS_6, SERVICES, SHORT, SPOKEN},
    rules::{address, command, cookie, inside, jwk, pem, pgpass, url, vendor},
    spans::Spans,
};

#[derive(Debug, Clone, Copy)]
enum Anchor {
    Name,
    Short,
    PemBegin,
    PemEnd,
    Putty,
    Url,
    Dsn,
    Curl,
    Command(&'static str, bool),
    Cookie,
    Inside(usize),
    Pgpass,
    PemInBase64,
    Jwk,
    Identified,
    Foreign,
    Net,
    Net6,
    Vendor(usize),
    Known(usize),
}

/// The automaton of all anchors.
#[derive(Debug, Clone)]
pub(super) struct Anchors {
    automaton: Automaton,
    anchors: Vec<Anchor>,
    known: Known,
}

impl Anchors {
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let known = Known::new(secrets);
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut anchors = Vec::new();
        let mut add = |word: &[u8], anchor: Anchor| {
            words.push(word.to_vec());
            anchors.push(anchor);
        };
        for (list, anchor) in [
            (&*NAMES, Anchor::Name),
            (&SERVICES, Anchor::Name),
            (&SPOKEN, Anchor::Name),
            (&SHORT, Anchor::Short),
            (&FOREIGN, Anchor::Foreign),
            (&COOKIES, Anchor::Cookie),
            (&NETS, Anchor::Net),
            (&NETS_6, Anchor::Net6),
        ] {
            list.iter().for_each(|word| add(word.as_bytes(), anchor));
        }
        for (word, anchor) in [
            ("-----begin", Anchor::PemBegin),
            ("-----end", Anchor::PemEnd),
            ("private-lines:", Anchor::Putty),
            ("://", Anchor::Url),
            ("@tcp(", Anchor::Dsn),
            ("curl ", Anchor::Curl),
            ("ls0tls1crudjti", Anchor::PemInBase64),
            ("kty\"", Anchor::Jwk),
            ("kty\\\"", Anchor::Jwk),
            ("identified by", Anchor::Identified),
        ] {
            add(word.as_bytes(), anchor);
        }
        for (begins, flag, apart) in command::programs() {
            add(begins.as_bytes(), Anchor::Command(flag, apart));
        }
        for (index, mark) in inside::marks().enumerate() {
            add(mark.as_bytes(), Anchor::Inside(index));
        }
        for port in pgpass::PORTS {
            add(port.as_bytes(), Anchor::Pgpass);
        }
        for (index, prefix) in vendor::prefixes().enumerate() {
            add(prefix.as_bytes(), Anchor::Vendor(index));
        }
        for (index, form) in known.heads().enumerate() {
            add(form, Anchor::Known(index));
        }
        Self {
            automaton: Automaton::of(words),
            anchors,
            known,
        }
    }

    /// Looks closer wherever an anchor stands.
    pub(super) fn search(&self, text: &str, spans: &mut Spans) {
        let found =
            self.automaton
                .find(text, |Hit { end, start, word }| match self.anchors[word] {
                    Anchor::Name => assignment::look(text, start, end, spans),
                    Anchor::Short => assignment::look(text, start, end - 1, spans),
                    Anchor::PemBegin => pem::begin(text, start, spans),
                    Anchor::PemEnd => pem::end(text, start, spans),
                    Anchor::Putty => pem::putty(text, end, spans),
                    Anchor::Url => url::look(text, start, spans),
                    Anchor::Dsn => url::dsn(text, start, spans),
                    Anchor::Curl => command::curl(text, end, spans),
                    Anchor::Command(flag, apart) => command::look((flag, apart), text, end, spans),
                    Anchor::Identified => command::identified(text, end, spans),
                    Anchor::Cookie => cookie::look(text, start, end, spans),
                    Anchor::Inside(rule) => inside::look(rule, text, start, spans),
                    Anchor::Pgpass => pgpass::look(text, start, spans),
                    Anchor::PemInBase64 => pem::base64(text, start, spans),
                    Anchor::Jwk => jwk::look(text, start, spans),
                    Anchor::Foreign => assignment::look_foreign(text, start, end, spans),
                    Anchor::Net => address::look(text, start, spans),
                    Anchor::Net6 => address::look_6(text, start, spans),
                    Anchor::Vendor(rule) => vendor::look(rule, text, start, spans),
                    Anchor::Known(form) => self.known.look(form, text, start, spans),
                });
        if found.is_none() {
            // Cannot happen with our word list; if it does, nothing leaves.
            spans.add(0, text.len(), "secret".into());
        }
    }
}
