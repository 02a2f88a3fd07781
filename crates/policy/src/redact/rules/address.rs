//! Private addresses with a port. Without one they are as public as any version
//! number; loopback stays.

use std::net::Ipv6Addr;

use super::super::spans::Spans;

pub(in super::super) fn look(text: &str, start: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).map(|at| bytes[at]);
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        return;
    }
    let mut at = start;
    let mut octets = [0u8; 4];
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
        let Ok(value) = u8::try_from(value) else {
            return;
        };
        *octet = value;
        at += digits;
    }
    if is_private(octets)
        && let Some(end) = port(bytes, at)
    {
        spans.add(start, end, "internal_ip".into());
    }
}

fn is_private(octets: [u8; 4]) -> bool {
    match octets {
        [10, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [192, 168, ..] | [169, 254, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        _ => false,
    }
}

/// `[fd12:3456::1]:8080`, `[fe80::1%eth0]:22`: in brackets, as before a port.
pub(in super::super) fn look_6(text: &str, start: usize, spans: &mut Spans) {
    const LONGEST: usize = 64;
    let inside = &text[start + 1..];
    let Some(length) = inside.bytes().take(LONGEST).position(|b| b == b']') else {
        return;
    };
    let address = inside[..length].split('%').next().unwrap_or_default();
    let private = address.parse::<Ipv6Addr>().is_ok_and(|address| {
        let mapped = address.to_ipv4_mapped();
        address.is_unique_local()
            || address.is_unicast_link_local()
            || mapped.is_some_and(|address| is_private(address.octets()))
    });
    if private && let Some(end) = port(text.as_bytes(), start + 1 + length + 1) {
        spans.add(start, end, "internal_ip".into());
    }
}

/// Where the port ends whose colon is at `at`.
fn port(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    let (port, digits) = number(&bytes[at + 1..], 5)?;
    let end = at + 1 + digits;
    let next = bytes.get(end);
    let joined = next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    ((1..=65535).contains(&port) && !joined).then_some(end)
}

fn number(bytes: &[u8], most: usize) -> Option<(u32, usize)> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > most {
        return None;
    }
    let digit = |value: u32, digit: &u8| value * 10 + u32::from(digit - b'0');
    let value = bytes[..digits].iter().fold(0, digit);
    Some((value, digits))
}
