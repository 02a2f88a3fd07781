//! Writes the emoji as one text, a line for each: the sign, its name, its short codes. As
//! data of their crate they are thousands of addresses, which the loader would write anew
//! whenever a process of ours starts.

use std::{env, fmt::Write, fs, path::Path};

fn main() {
    let mut text = String::new();
    for emoji in emojis::iter() {
        let codes: Vec<&str> = emoji.shortcodes().collect();
        let (sign, name, codes) = (emoji.as_str(), emoji.name(), codes.join("\t"));
        writeln!(text, "{sign}\t{name}\t{codes}").expect("a text takes all");
    }
    let folder = env::var_os("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("emoji.txt"), text).expect("the folder is ours");
    println!("cargo::rerun-if-changed=build.rs");
}
