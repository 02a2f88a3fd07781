//! Whether a network of our own is as new: no packet has passed, no socket is
//! left. A connection that was closed keeps its port for a minute, and a socket
//! that was sent to itself may outlive its processes; the next command must meet
//! neither.

use std::{fs::File, io::Read};

/// Looks once all processes are dead. What cannot be read is not as new.
pub(super) fn is_as_new() -> bool {
    let (Ok(devices), Ok(sockets)) = (read("dev"), read("sockstat")) else {
        return false;
    };
    nothing_passed(&devices) && none_left(&sockets)
}

/// A small file with one read: with a device or a line more than we know it is
/// cut, and then not understood.
fn read(name: &str) -> std::io::Result<String> {
    let mut bytes = [0; 2048];
    let length = File::open(format!("/proc/self/net/{name}"))?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Of every device the packets that came in and went out.
fn nothing_passed(devices: &str) -> bool {
    let mut counts = devices
        .lines()
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(_, figures)| {
            let figures: Vec<&str> = figures.split_whitespace().collect();
            [1, 9].map(|at| figures.get(at).map(|figure| *figure == "0"))
        })
        .peekable();
    counts.peek().is_some() && counts.all(|count| count == Some(true))
}

fn none_left(sockets: &str) -> bool {
    sockets.lines().any(|line| line == "sockets: used 0")
        && !sockets
            .lines()
            .any(|line| line.starts_with("TCP:") && !line.contains(" tw 0 "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n";
    const SOCKETS: &str = "sockets: used 0\nTCP: inuse 0 orphan 0 tw 0 alloc 40 mem 173\n";

    #[test]
    fn a_packet_or_a_socket_is_noticed() {
        let device = |received: u32, sent: u32| {
            format!("{HEAD}    lo: 0 {received} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0\n")
        };
        assert!(nothing_passed(&device(0, 0)));
        assert!(!nothing_passed(&device(1, 0)));
        assert!(!nothing_passed(&device(0, 1)));
        assert!(!nothing_passed(HEAD), "no device at all is not understood");
        assert!(none_left(SOCKETS));
        assert!(!none_left(&SOCKETS.replace("used 0", "used 2")));
        assert!(!none_left(&SOCKETS.replace("tw 0", "tw 1")));
        assert!(!none_left(""));
    }
}
