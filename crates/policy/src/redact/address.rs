//! Private IPv4 addresses with a port. Without one they are as public as any
//! version number; loopback stays.

use super::spans::Spans;

pub(super) fn look(text: &str, start: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).map(|at| bytes[at]);
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        return;
    }
    let mut at = start;
    let mut octets = [0u32; 4];
    for (index, octet) in octets.iter_mut().enumerate() {
        if index > 0 {
            if bytes.get(at) != Some(&b'.') {
                return;
            }
            at += 1;
        }
        let Some((value, digits)) = number(&bytes[at.min(bytes.len())..], 3) else {
            return;
        };
        *octet = value;
        at += digits;
    }
    let private = match octets {
        [10, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [192, 168, ..] | [169, 254, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        _ => false,
    };
    if !private || octets.iter().any(|octet| *octet > 255) || bytes.get(at) != Some(&b':') {
        return;
    }
    let Some((port, digits)) = number(&bytes[at + 1..], 5) else {
        return;
    };
    let end = at + 1 + digits;
    let after = bytes.get(end);
    if port == 0 || port > 65535 || after.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return;
    }
    spans.add(start, end, "internal_ip".into());
}

fn number(bytes: &[u8], most: usize) -> Option<(u32, usize)> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > most {
        return None;
    }
    let value = bytes[..digits]
        .iter()
        .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, digits))
}
