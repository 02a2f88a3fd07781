//! Opens a page in the person's browser, where there is one: at a terminal, with a
//! display, not over SSH. A link in the output does for everybody else.

use std::{
    env,
    io::{self, IsTerminal},
    process::Stdio,
    time::Duration,
};

use tokio::process::Command;

/// The program only hands the page on; one that stays longer is left alone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether somebody would see it.
pub(crate) fn is_there() -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let display = cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY");
    let elsewhere = set("SSH_CONNECTION") || set("SSH_TTY") || set("CI");
    display && !elsewhere && io::stdout().is_terminal()
}

/// Opens it; whether that went well as far as one can tell.
pub(crate) async fn open(link: &str) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let started = Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(ended) => ended.is_ok_and(|status| status.success()),
        Err(_) => true,
    }
}
