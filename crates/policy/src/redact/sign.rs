//! What stands between a name and its value: `=`, `:`, `is`, or nothing where
//! a command or a file format needs none.

/// The sign between name and value.
pub(super) struct Sign {
    pub(super) end: usize,
    /// `NAME=value`, without a blank.
    pub(super) tight: bool,
    /// `:`, as in YAML, JSON and prose.
    pub(super) colon: bool,
    /// `is`, or nothing: only a value that no person would write counts.
    pub(super) prose: bool,
}

pub(super) fn sign(bytes: &[u8], first: usize, last: usize) -> Option<Sign> {
    let mut at = last;
    let peek = |at: usize| bytes.get(at).copied().unwrap_or(0);
    while at - last < 5 && matches!(peek(at), b'"' | b'\'' | b'`' | b'\\' | b']' | b'*') {
        at += 1;
    }
    let before = at;
    while at - before < 12 && matches!(peek(at), b' ' | b'\t') {
        at += 1;
    }
    let spaced = at > before;
    let sign = |end: usize, colon: bool| {
        Some(Sign {
            end,
            tight: !spaced && !matches!(peek(end), b' ' | b'\t'),
            colon,
            prose: false,
        })
    };
    let flag =
        first >= 2 && bytes[first - 2..first] == *b"--" || first < last && bytes[first] == b'-';
    match (peek(at), peek(at + 1)) {
        (b'=', b'>') | (b':', b'=') => sign(at + 2, false),
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => None,
        (b'=', _) => sign(at + 1, false),
        (b':', _) => sign(at + 1, true),
        (b'>', _) if first > 0 && bytes[first - 1] == b'<' => sign(at + 1, false),
        (b'i', b's') if spaced && peek(at + 2) == b' ' => Some(Sign {
            end: at + 3,
            tight: false,
            colon: true,
            prose: true,
        }),
        // `CREATE USER app PASSWORD '…'`.
        (b'\'', _) if spaced && bytes[first..last].eq_ignore_ascii_case(b"password") => {
            Some(Sign {
                end: at,
                tight: false,
                colon: true,
                prose: true,
            })
        }
        _ if (flag
            || takes_no_sign(&bytes[first..last])
            || is_netrc(bytes, first)
            || is_fish(bytes, first))
            && spaced
            && at == before + 1 =>
        {
            Some(Sign {
                end: at,
                tight: true,
                colon: false,
                prose: false,
            })
        }
        _ => None,
    }
}

/// `requirepass …` of Redis, `npm config set …:_authToken …`, `Bearer …`.
fn takes_no_sign(name: &[u8]) -> bool {
    [&b"requirepass"[..], b"_authToken", b"bearer"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// `machine example.com login you password …`.
fn is_netrc(bytes: &[u8], first: usize) -> bool {
    let before = &bytes[first.saturating_sub(160)..first];
    let has = |word: &[u8]| before.windows(word.len()).any(|found| found == word);
    has(b"login ") && (has(b"machine ") || has(b"default "))
}

/// `set -x TOKEN …`, as fish exports.
fn is_fish(bytes: &[u8], first: usize) -> bool {
    [&b"set -x "[..], b"set -gx ", b"set -Ux "]
        .iter()
        .any(|set| bytes[..first].ends_with(set))
}
