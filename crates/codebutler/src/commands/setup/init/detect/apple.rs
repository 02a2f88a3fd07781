//! Swift packages and CocoaPods, by their marker files. Nobody of us has run
//! these: whoever is shown them is told so.

use std::path::Path;

use crate::commands::setup::init::detect::{Detected, text};

pub(crate) fn detect(folder: &Path) -> Option<Detected> {
    let (package, pods) = (text(folder, "Package.swift"), text(folder, "Podfile"));
    let mut found = Detected::default();
    if package.is_some() {
        found.prepare.push("swift package resolve".into());
        found.check("build", "swift build");
        found.check("test", "swift test");
        found.untested.push("Swift packages");
    }
    if pods.is_some() {
        let deployed = folder.join("Podfile.lock").exists();
        let install = if deployed {
            "pod install --deployment"
        } else {
            "pod install"
        };
        found.prepare.push(install.into());
        found.untested.push("CocoaPods");
    }
    (package.is_some() || pods.is_some()).then_some(found)
}
