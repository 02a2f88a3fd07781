//! Splits a view: what command after command sees becomes the base root, which a
//! helper builds once; the rest is put on a copy of it for each command.

use std::{collections::BTreeMap, path::Path};

use crate::{
    Network,
    spec::{BaseRoot, VERSION, Way},
    view::{
        Step, View,
        looks::{Kind, Looks},
    },
};

/// Mounted anew for every command, so nothing below can be part of a base root.
const SCRATCH: [&str; 2] = [crate::TMP, "/dev/shm"];

/// Takes the base root of a view out of its steps, and says whether other commands
/// can use the same one. A view that does not split is all base root, built for its
/// command alone.
pub(crate) fn split(view: &mut View, base: &[Step], network: Network) -> (BaseRoot, bool) {
    let shared = take_base(view, base);
    // With the host's network there is a way out that nobody else should find open.
    let again = shared.is_some() && network == Network::Loopback;
    let steps = shared.unwrap_or_else(|| std::mem::take(&mut view.steps));
    let (mut late, steps): (Vec<_>, Vec<_>) = steps.into_iter().partition(in_scratch);
    late.append(&mut view.steps);
    view.steps = late;
    let ways = ways(&steps, &view.steps, &mut view.looks);
    (on(steps, ways, network), again)
}

/// A base root with nothing but these steps.
pub(crate) fn on(steps: Vec<Step>, ways: Vec<Way>, network: Network) -> BaseRoot {
    BaseRoot {
        version: VERSION,
        caller: std::process::id().cast_signed(),
        network,
        steps,
        ways,
    }
}

/// Takes the `base` out of the steps, if building it first and the rest on top
/// comes to the same view: it must be there unchanged, and nothing of the rest
/// may lie over a part of it.
fn take_base(view: &mut View, base: &[Step]) -> Option<Vec<Step>> {
    let places: BTreeMap<&Path, &Step> = base.iter().map(|step| (step.place(), step)).collect();
    let is_base = |step: &&Step| places.get(step.place()) == Some(step);
    // What lies below a place follows it in order.
    let over = |step: &Step| {
        let mut below = places.range(step.place()..);
        below
            .next()
            .is_some_and(|(below, _)| below.starts_with(step.place()))
    };
    let rest: Vec<&Step> = view.steps.iter().filter(|step| !is_base(step)).collect();
    if view.steps.len() - rest.len() != base.len() || rest.iter().copied().any(over) {
        return None;
    }
    view.steps = rest.into_iter().cloned().collect();
    Some(base.to_vec())
}

/// The mount points that `later` steps need in the base root's own file system:
/// those that lie in nothing that is mounted.
fn ways(base_root: &[Step], later: &[Step], looks: &mut Looks) -> Vec<Way> {
    let missing = later.iter().enumerate().filter(|(number, step)| {
        let mut before = base_root.iter().chain(&later[..*number]);
        !in_scratch(step) && !before.any(|other| step.place().starts_with(other.place()))
    });
    missing
        .map(|(_, step)| Way {
            path: step.place().into(),
            folder: match step {
                Step::Cover { folder, .. } => *folder,
                Step::Show { path, .. } => looks.kind(path.path()).ok() == Some(Kind::Folder),
                Step::Link { .. } => true,
                Step::Instead { .. } => false,
            },
        })
        .collect()
}

fn in_scratch(step: &Step) -> bool {
    SCRATCH
        .iter()
        .any(|scratch| step.place().starts_with(Path::new(scratch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(path: &str, write: bool) -> Step {
        Step::Show {
            path: Path::new(path).into(),
            write,
        }
    }

    fn cover(path: &str) -> Step {
        Step::Cover {
            path: Path::new(path).into(),
            folder: true,
            below: None,
        }
    }

    fn view(steps: &[Step]) -> View {
        View {
            steps: steps.to_vec(),
            ..View::default()
        }
    }

    #[test]
    fn the_base_is_shared_only_when_the_order_does_not_matter() {
        let base = [show("/usr", false), show("/etc/hosts", false)];
        let tree = show("/work/tree", true);
        let below = cover("/usr/share/keys");
        let whole = [&base[..], &[tree.clone(), below.clone()]].concat();
        let mut plain = view(&whole);
        let (base_root, again) = split(&mut plain, &base, Network::Loopback);
        assert!(again);
        assert_eq!(base_root.steps, base);
        assert_eq!(plain.steps, [tree.clone(), below]);
        let (_, again) = split(&mut view(&whole), &base, Network::Host);
        assert!(!again, "the host's network is for one command");
        // A part of the base that this view shows otherwise, or not at all, or
        // something over the base: built later it would hide it.
        for steps in [
            vec![base[0].clone(), show("/etc/hosts", true), tree.clone()],
            vec![base[0].clone(), tree.clone()],
            [&base[..], &[show("/etc", false), tree.clone()]].concat(),
        ] {
            let mut view = view(&steps);
            let (base_root, again) = split(&mut view, &base, Network::Loopback);
            assert!(!again);
            assert_eq!((base_root.steps, view.steps), (steps, Vec::new()));
        }
    }

    #[test]
    fn what_lies_in_the_scratch_space_waits_for_it() {
        let base = [show("/usr", false), show("/tmp/tools", false)];
        let mut view = view(&[base[0].clone(), base[1].clone(), show("/tmp/w", true)]);
        let (base_root, again) = split(&mut view, &base, Network::Loopback);
        assert!(again);
        assert_eq!(base_root.steps, [show("/usr", false)]);
        assert_eq!(base_root.ways, []);
        assert_eq!(
            view.steps,
            [show("/tmp/tools", false), show("/tmp/w", true)]
        );
    }

    #[test]
    fn a_way_is_made_for_what_lies_in_nothing_else() {
        let base = [show("/usr", false)];
        let steps = [
            show("/usr", false),
            show("/work/tree", true),
            show("/work/tree/.git", false),
            cover("/usr/share/keys"),
        ];
        let (base_root, _) = split(&mut view(&steps), &base, Network::Loopback);
        let ways: Vec<_> = base_root.ways.iter().map(|way| way.path.path()).collect();
        assert_eq!(ways, [Path::new("/work/tree")]);
    }
}
