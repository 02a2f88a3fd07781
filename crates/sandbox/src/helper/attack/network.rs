//! Attacks through sockets: to the host, to the world, to the kernel.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixStream},
    },
    time::Duration,
};

use rustix::net::{AddressFamily, Protocol, SocketType, netlink, socket};

use super::{Attack, Tried, tried};

/// An address that nobody has, far away.
const FAR: ([u8; 4], u16) = ([192, 0, 2, 1], 53);

pub(super) const ATTACKS: &[Attack] = &[
    ("reach the host's loopback", |t| {
        tried(connect(([127, 0, 0, 1], t.port).into()))
    }),
    ("reach the outside by TCP", |_| tried(connect(FAR.into()))),
    ("reach the outside by UDP", |_| {
        let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            let to: SocketAddr = FAR.into();
            socket.send_to(b"x", to)
        });
        tried(sent)
    }),
    ("reach the outside by IPv6", |_| {
        tried(connect(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 53).into()))
    }),
    ("resolve a name", |_| {
        tried("codebutler.example:80".to_socket_addrs())
    }),
    ("reach a Unix socket of the host", |t| {
        tried(UnixStream::connect(&t.socket))
    }),
    ("reach an abstract socket of the host", |t| {
        let address = UnixAddr::from_abstract_name(&t.abstract_name);
        tried(address.and_then(|address| UnixStream::connect_addr(&address)))
    }),
    ("find sockets in /run", |_| sockets()),
    ("open a raw socket", |_| {
        family(AddressFamily::INET, SocketType::RAW)
    }),
    ("open a packet socket", |_| {
        family(AddressFamily::PACKET, SocketType::RAW)
    }),
    ("open a socket to the hypervisor", |_| {
        family(AddressFamily::VSOCK, SocketType::STREAM)
    }),
    ("open a crypto socket", |_| {
        family(AddressFamily::from_raw(38), SocketType::SEQPACKET)
    }),
    ("open a Bluetooth socket", |_| {
        family(AddressFamily::BLUETOOTH, SocketType::RAW)
    }),
    ("talk to the audit system", |_| {
        let made = socket(
            AddressFamily::NETLINK,
            SocketType::RAW,
            Some(netlink::AUDIT),
        );
        tried(made)
    }),
    ("talk to the device manager", |_| {
        let kernel_events: Option<Protocol> = Some(netlink::KOBJECT_UEVENT);
        tried(socket(
            AddressFamily::NETLINK,
            SocketType::RAW,
            kernel_events,
        ))
    }),
    ("listen where the host can hear", |t| {
        // Its own loopback is free, so the port that the host uses is too.
        match TcpListener::bind(("127.0.0.1", t.port)) {
            Ok(_) => Err("listens on a loopback of its own".to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(error.to_string())
            }
            Err(error) => Ok(format!("shares the host's loopback: {error}")),
        }
    }),
];

fn connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&to, Duration::from_millis(200))
}

fn family(family: AddressFamily, kind: SocketType) -> Tried {
    tried(socket(family, kind, None))
}

fn sockets() -> Tried {
    for folder in ["/run", "/var/run", "/run/dbus", "/tmp/.X11-unix"] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        if let Some(found) = entries.map(|entry| entry.path()).next() {
            return Ok(format!("found {}", found.display()));
        }
    }
    Err("they are empty".to_owned())
}
