//! What the kernel confines. The sandbox attacks itself from inside; one
//! attack that succeeds is a failed line, not a footnote.

use std::env;

use butler_sandbox::{Sandbox, SandboxError, SelfTest, Strength, kernel_keeps_limits};

use crate::{
    commands::setup::doctor::{Finding, Place},
    process,
};

const NAME: &str = "sandbox";
const FIX: &str = "allow user namespaces (kernel.unprivileged_userns_clone=1, or the AppArmor \
                   profile of your distribution), or run on a kernel with Landlock";

pub(crate) fn examine(_: &Place) -> Vec<Finding> {
    let sandbox = match attack() {
        Ok((Strength::None { reason }, _)) => Finding::failed(
            NAME,
            format!("{reason}: every command asks, and runs unconfined when approved"),
            FIX,
        ),
        Ok((strength, test)) => judge(&strength, &test),
        Err(reason) => Finding::failed(NAME, reason, FIX),
    };
    vec![sandbox, limits()]
}

/// Memory, processes and disk of a command are always looked at; where it can be, the
/// kernel keeps the first two as well.
fn limits() -> Finding {
    Finding::ok(
        "limits",
        match kernel_keeps_limits() {
            Ok(()) => "of memory and processes are kept by the kernel, in a control group".into(),
            Err(why) => format!("are looked at every 50 ms; the kernel keeps none: {why}"),
        },
    )
}

fn attack() -> Result<(Strength, SelfTest), String> {
    let helper = env::current_exe().map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(helper).map_err(|error: SandboxError| error.to_string())?;
    let test = process::wait_for(sandbox.self_test());
    let test = test.map_err(|error| error.to_string())?;
    Ok((sandbox.strength(), test))
}

fn judge(strength: &Strength, test: &SelfTest) -> Finding {
    let open = test.probes.iter().filter(|probe| !probe.refused);
    let open: Vec<&str> = open.map(|probe| probe.name.as_str()).collect();
    let tried = test.probes.len();
    match strength {
        Strength::Namespaces if open.is_empty() => {
            Finding::ok(NAME, format!("namespaces; {tried} attacks refused"))
        }
        Strength::LandlockOnly { reason } => Finding::warning(
            NAME,
            format!(
                "Landlock only ({reason}), so every command asks; open: {}",
                open.join(", ")
            ),
            FIX,
        ),
        _ => Finding::failed(NAME, format!("open: {}", open.join(", ")), FIX),
    }
}
