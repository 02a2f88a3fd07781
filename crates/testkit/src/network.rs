//! Machines on networks of their own: each is a network namespace of this one, with cables
//! to switches. A cable can be pulled, and a machine can lose its power. Nothing of it is
//! on the network of this machine, and all of it is gone when it is dropped, or when the
//! test ends in whatever way.

#![expect(clippy::unwrap_used, reason = "a test kit stops at the first surprise")]

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead, BufReader},
    net::Ipv4Addr,
    os::fd::AsFd,
    process::{Child, Command, Stdio},
    thread,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

/// A machine, as far as its network goes.
#[derive(Debug)]
pub struct Host {
    /// Holds the namespace, and ends with our end of its input.
    holder: Child,
}

impl Host {
    /// A machine without cables; nothing where it cannot be made, which is said. In CI
    /// only a missing right excuses that, no missing program.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
    pub fn start() -> Option<Self> {
        if Command::new("ip").arg("-V").output().is_err() {
            let ci = std::env::var_os("CI").is_some();
            assert!(!ci, "there is no `ip`; in CI nothing is skipped");
            eprintln!("SKIPPED: there is no `ip` (cargo xtask setup installs iproute2)");
            return None;
        }
        let host = Self::try_start();
        if host.is_none() {
            eprintln!("SKIPPED: only root can make machines of the network");
        }
        host
    }

    fn try_start() -> Option<Self> {
        let mut holder = Command::new("unshare")
            .args(["--net", "sh", "-c"])
            .arg("ip link set lo up && echo up && exec cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut said = String::new();
        let mut output = BufReader::new(holder.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        if said != "up\n" {
            holder.wait().unwrap();
            return None;
        }
        Some(Self { holder })
    }

    fn namespace(&self) -> String {
        format!("/proc/{}/ns/net", self.holder.id())
    }

    /// The words before those of a program that runs on this machine.
    #[must_use]
    pub fn entry(&self) -> Vec<OsString> {
        let net = format!("--net={}", self.namespace());
        ["nsenter", &net, "--"].map(OsString::from).into()
    }

    /// A program on this machine.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let entry = self.entry();
        let mut command = Command::new(&entry[0]);
        command.args(&entry[1..]).arg(program);
        command
    }

    /// Does something on this machine, in a thread of its own; threads and processes that
    /// begin there are there as well.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = fs::File::open(self.namespace()).unwrap();
        thread::scope(|scope| {
            let there = scope.spawn(move || {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind).unwrap();
                work()
            });
            match there.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Every process of this machine is killed, as when its power fails.
    pub fn power_off(&self) {
        let Ok(ours) = fs::read_link(self.namespace()) else {
            return;
        };
        loop {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let pids = all.filter_map(|one| one.file_name().to_str()?.parse::<i32>().ok());
            let here = |pid: &i32| {
                let of_process = fs::read_link(format!("/proc/{pid}/ns/net"));
                *pid != self.holder.id().cast_signed() && of_process.is_ok_and(|net| net == ours)
            };
            let found: Vec<i32> = pids.filter(here).collect();
            if found.is_empty() {
                return;
            }
            for pid in found.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.power_off();
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A switch and what is plugged into it.
#[derive(Debug)]
pub struct Network {
    switch: Host,
    /// The first three numbers of all its addresses.
    prefix: [u8; 3],
    cables: u8,
}

impl Network {
    /// One without machines; nothing where it cannot be made, as with [`Host::start`].
    #[must_use]
    pub fn start(prefix: [u8; 3]) -> Option<Self> {
        let switch = Host::start()?;
        ip(&switch, "link add switch type bridge");
        ip(&switch, "link set switch up");
        Some(Self {
            switch,
            prefix,
            cables: 0,
        })
    }

    /// A cable to a machine, which gets the next address.
    pub fn cable(&mut self, host: &Host) -> Cable {
        self.cables += 1;
        let [a, b, c] = self.prefix;
        let address = Ipv4Addr::new(a, b, c, self.cables);
        let (port, holder) = (format!("port{}", self.cables), host.holder.id());
        let end = format!("net{c}");
        let pair = format!("link add {port} type veth peer name {end} netns {holder}");
        ip(&self.switch, &pair);
        ip(&self.switch, &format!("link set {port} master switch up"));
        ip(host, &format!("address add {address}/24 dev {end}"));
        ip(host, &format!("link set {end} up"));
        Cable {
            address,
            port,
            switch: self.switch.entry(),
        }
    }
}

/// What connects a machine with a switch.
#[derive(Debug)]
pub struct Cable {
    /// Of the machine, at this cable.
    pub address: Ipv4Addr,
    port: String,
    switch: Vec<OsString>,
}

impl Cable {
    /// Pulls it: connections stand, and nothing arrives any more.
    pub fn pull(&self) {
        self.set("down");
    }

    /// Plugs it in again.
    pub fn plug(&self) {
        self.set("up");
    }

    fn set(&self, state: &str) {
        let mut command = Command::new(&self.switch[0]);
        command.args(&self.switch[1..]);
        done(command.args(["ip", "link", "set", &self.port, state]));
    }
}

fn ip(host: &Host, words: &str) {
    done(host.command("ip").args(words.split(' ')));
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        time::Duration,
    };

    use super::*;

    #[test]
    fn machines_meet_on_their_network_alone_and_not_while_a_cable_is_out() {
        let Some(mut network) = Network::start([10, 77, 0]) else {
            return;
        };
        let [here, there, alone] = [(); 3].map(|()| Host::start().unwrap());
        let cables = [&here, &there].map(|host| network.cable(host));
        let place = (cables[0].address, 7000);
        let listener = here.inside(|| TcpListener::bind(place).unwrap());
        let meet = || TcpStream::connect_timeout(&place.into(), Duration::from_millis(300));
        assert!(alone.inside(meet).is_err());
        let mut stream = there.inside(meet).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        cables[1].pull();
        assert!(there.inside(meet).is_err());
        // What is under way arrives once the cable is back.
        stream.write_all(b"late").unwrap();
        cables[1].plug();
        let mut heard = [0; 4];
        other.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"late");

        // Until it speaks it is on its way there, where no power failure finds it.
        let mut child = there.command("sh");
        child.args(["-c", "echo there && exec sleep 1000"]);
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        there.power_off();
        assert!(!child.wait().unwrap().success());
    }
}
