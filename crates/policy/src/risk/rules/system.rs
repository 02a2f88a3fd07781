//! The machine itself: privileges, services, disks, users, power.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    simple::Call,
    state::{Output, State, Stdin},
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    let args = call.args;
    let first = args
        .operands(&["-t", "-H", "-M", "-p"])
        .first()
        .map_or("", |word| word.as_str());
    let name = call.name;
    match name {
        "sudo" | "doas" | "su"
            if args.0.len() == 1 && args.any(&["--version", "--help", "-V", "-h"]) => {}
        "sudo" | "doas" | "su" | "pkexec" | "gosu" | "su-exec" | "runuser" | "sudoedit"
        | "calife" | "run0" | "dzdo" | "please" | "gksudo" | "gksu" | "kdesudo" | "beesu" => {
            analyzer.ask(format!("`{name}` takes other rights"), true);
            let inner = args.operands(&["-u", "-g", "-U", "-C", "-p", "-h", "-T"]);
            if let Some(start) = inner
                .first()
                .and_then(|first| args.iter().position(|word| std::ptr::eq(word, *first)))
                && name != "su"
            {
                analyzer.nested(&args.0[start..], &mut state.clone(), &Stdin::None);
            }
        }
        "systemctl" => {
            let looks = [
                "status",
                "show",
                "list-units",
                "list-unit-files",
                "list-timers",
                "list-sockets",
                "list-dependencies",
                "is-active",
                "is-enabled",
                "is-failed",
                "cat",
                "help",
                "list-jobs",
                "get-default",
                "list-machines",
                "is-system-running",
                "",
            ];
            ask_unless(analyzer, looks.contains(&first), "it changes services");
        }
        "service" => ask_unless(
            analyzer,
            args.any(&["status", "--status-all"]),
            "it changes services",
        ),
        "launchctl" => ask_unless(
            analyzer,
            matches!(first, "list" | "print" | "blame" | "print-disabled" | ""),
            "it changes services",
        ),
        "rc-service" | "sv" | "supervisorctl" | "initctl" | "pm2" | "monit" | "update-rc.d"
        | "chkconfig" | "rc-update" | "systemd-run" | "svcadm" | "start-stop-daemon" => {
            let looks = matches!(
                first,
                "status" | "list" | "ls" | "logs" | "show" | "info" | "describe" | "jlist"
            ) || args.any(&["status"]);
            ask_unless(analyzer, looks, "it changes services");
        }
        "mount" => ask_unless(analyzer, args.0.is_empty() || args.has("-l"), "it mounts"),
        "crontab" => ask_unless(analyzer, args.has("-l"), "it changes scheduled jobs"),
        "ip" | "ifconfig" | "route" | "iwconfig" | "nmcli" | "networksetup" | "brctl" | "tc"
        | "ethtool" | "wg" | "wg-quick" => {
            let changes = args.any(&[
                "add",
                "del",
                "delete",
                "set",
                "up",
                "down",
                "flush",
                "change",
                "replace",
                "connect",
                "disconnect",
                "modify",
            ]);
            ask_unless(analyzer, !changes, "it changes the network");
        }
        "iptables" | "ip6tables" | "nft" | "ufw" | "firewall-cmd" | "pfctl" | "ebtables"
        | "arptables" | "ipset" => {
            let looks = args.short('L')
                || args.short('S')
                || args.any(&["status", "list", "--list-all", "--state", "-sr", "version"]);
            ask_unless(analyzer, looks, "it changes the firewall");
        }
        "sysctl" => ask_unless(
            analyzer,
            !(args.has("-w") || args.short('p') || args.iter().any(|word| word.text.contains('='))),
            "it changes the kernel's settings",
        ),
        "timedatectl" | "hostnamectl" | "localectl" | "loginctl" | "coredumpctl" | "resolvectl"
        | "bootctl" => {
            let looks = first.is_empty()
                || first.starts_with("list")
                || matches!(
                    first,
                    "status" | "show" | "query" | "info" | "timesync-status"
                );
            ask_unless(analyzer, looks, "it changes the machine");
        }
        "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "parted" | "diskutil" => {
            ask_unless(
                analyzer,
                args.short('l') || args.any(&["list", "print", "info"]),
                "it changes disks",
            );
        }
        "kill" | "pkill" | "killall" | "xkill" => signals(analyzer, name, args),
        "at" | "batch" => ask_unless(analyzer, args.has("-l"), "it schedules a job"),
        "defaults" => ask_unless(
            analyzer,
            matches!(first, "read" | "find" | "domains"),
            "it changes settings of the machine",
        ),
        "gsettings" | "dconf" | "xfconf-query" => ask_unless(
            analyzer,
            matches!(
                first,
                "get"
                    | "list-schemas"
                    | "list-keys"
                    | "list-recursively"
                    | "read"
                    | "list"
                    | "dump"
            ),
            "it changes settings of the machine",
        ),
        "update-alternatives" | "alternatives" => ask_unless(
            analyzer,
            args.any(&["--display", "--list", "--query"]),
            "it changes the machine",
        ),
        "zfs" | "zpool" | "btrfs" | "lvm" | "mdadm" | "cryptsetup" => {
            let looks = args.any(&[
                "list", "get", "status", "show", "--detail", "iostat", "history", "df", "usage",
            ]);
            ask_unless(analyzer, looks, "it changes disks");
        }
        "umount" | "swapon" | "swapoff" | "losetup" | "wipefs" | "mkswap" | "lvremove"
        | "vgremove" | "pvremove" | "lvcreate" | "vgcreate" | "pvcreate" | "lvresize"
        | "badblocks" | "hdparm" | "blkdiscard" | "tune2fs" | "resize2fs" | "debugfs" | "fsck"
        | "e2fsck" | "dmsetup" | "format" | "mke2fs" | "newfs" => {
            analyzer.ask("it changes disks", false);
        }
        "useradd" | "usermod" | "userdel" | "adduser" | "deluser" | "groupadd" | "groupdel"
        | "groupmod" | "gpasswd" | "newusers" | "chage" | "addgroup" | "delgroup" | "dscl"
        | "newgrp" => analyzer.ask("it changes users", false),
        "reboot" | "shutdown" | "halt" | "poweroff" | "init" | "telinit" | "kexec"
        | "pm-suspend" => analyzer.ask("it stops the machine", false),
        "modprobe" | "insmod" | "rmmod" | "depmod" | "dkms" | "grub-install" | "update-grub"
        | "grub-mkconfig" | "efibootmgr" | "ldconfig" | "setenforce" | "semanage" | "setsebool"
        | "aa-enforce" | "aa-disable" | "auditctl" | "nvram" | "csrutil" | "spctl" | "pvesh"
        | "ntpdate" | "hwclock" | "chpst-root" | "unminimize" | "dpkg-reconfigure"
        | "add-apt-repository" | "apt-key" | "update-initramfs" | "mkinitcpio" | "dracut"
        | "flashrom" | "setterm-root" => analyzer.ask("it changes the machine", false),
        "screencapture" | "xdotool" | "xclip" | "pbcopy" => {
            analyzer.find(Tier::WriteLocal, "it runs a program", false);
        }
        name if name.starts_with("mkfs") => analyzer.ask("it formats a disk", false),
        _ => return None,
    }
    Some(Output::Unknown)
}

fn ask_unless(analyzer: &mut Analyzer<'_>, looks: bool, reason: &str) {
    if !looks {
        analyzer.ask(reason, false);
    }
}

/// Ending one's own processes is ordinary; ending all of them is not.
fn signals(analyzer: &mut Analyzer<'_>, name: &str, args: Args<'_>) {
    analyzer.find(Tier::WriteLocal, "it ends processes", false);
    let all = name == "kill"
        && args.0.len() > 1
        && args.0[1..]
            .iter()
            .any(|word| matches!(word.as_str(), "-1" | "1"))
        || name == "kill" && args.get(0) == Some("1")
        || name != "kill"
            && (args.has("-u")
                || args.short('u') && args.has("-9") && args.operands(&["-u"]).is_empty());
    if all {
        analyzer.ask("it ends every process", false);
    }
}
