//! Programs that talk to other machines: what they send, and where what they
//! fetch is put.

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[
    ("curl", curl),
    ("wget", wget),
    ("downloads", downloads),
    ("copy-flags", copy_flags),
    ("copy-over", copy_over),
    ("openssl", openssl),
    ("talks", |analyzer, call, _| {
        let here = call.args.operands(&["-c", "-i", "-w", "-W"]);
        let stays = here
            .first()
            .is_some_and(|host| host.exact && is_here(&host.text));
        analyzer.find(Tier::WriteVisible, "it talks to another machine", !stays);
        None
    }),
];

/// A download lands here; what is fetched is not ours to run.
fn saved(analyzer: &mut Analyzer<'_>, path: &Text, state: &mut State) {
    analyzer.local("it downloads a file");
    analyzer.write(path, state, "downloads to");
    if let Place::Inside(full) = analyzer.place(path, state) {
        state.files.insert(full, Made::Foreign);
    }
}

/// The name that a download gets by its address.
fn last_part(url: &Text) -> Text {
    let bare = url.text.split(['?', '#']).next().unwrap_or_default();
    let name = bare.rsplit('/').next().unwrap_or_default();
    url.with(name)
}

fn in_folder(folder: Option<&Text>, name: Text) -> Text {
    match folder {
        Some(folder) => Text {
            placed: folder.placed && name.placed,
            ..Text::placed(format!("{}/{}", folder.text, name.text))
        },
        None => name,
    }
}

fn curl(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let apart = call.args.apart("oHdXAbceuxFTwmDEKryYzCPQtU");
    let args = Args(&apart);
    let away = !goes_only(call, args, is_here);
    analyzer.find(Tier::WriteLocal, "it talks to another machine", away);
    let method = args.values(&["-X", "--request"]);
    let is = |wanted: &[&str]| {
        let named = |text: &Text| wanted.contains(&text.text.to_ascii_uppercase().as_str());
        method.iter().any(named)
    };
    if is(&["DELETE"]) && !goes_only(call, args, is_local) {
        analyzer.ask_online("it deletes on another machine");
    }
    let sends = |word: &Text| table().has("curl-sends", &word.text);
    if args.iter().any(sends) || is(&["POST", "PUT", "PATCH"]) {
        analyzer.find(Tier::WriteVisible, "it sends data to another machine", away);
    }
    if !args.values(&["-K", "--config"]).is_empty() {
        analyzer.find(Tier::WriteVisible, "it takes its orders from a file", true);
    }
    let folder = args.values(&["--output-dir"]).into_iter().next();
    let mut targets = args.values(table().list("curl-files"));
    if args.short('O') || args.has("--remote-name") || args.has("--remote-name-all") {
        targets.extend(args.operands(call.takes()).into_iter().map(last_part));
    }
    targets.retain(|target| target.text != "-");
    let to_file = !targets.is_empty();
    for target in targets {
        saved(analyzer, &in_folder(folder.as_ref(), target), state);
    }
    Some(match to_file {
        true => Output::nothing(),
        false => Output::Foreign,
    })
}

/// Whether every address is one of those. What is told to go another way is none.
fn goes_only(call: &Call<'_>, args: Args<'_>, there: fn(&str) -> bool) -> bool {
    let mut urls: Vec<Text> = args.operands(call.takes()).into_iter().cloned().collect();
    urls.extend(args.values(&["--url"]));
    args.values(table().list("curl-detours")).is_empty()
        && !urls.is_empty()
        && urls.iter().all(|url| url.exact && there(&url.text))
}

/// This machine, but for its stores.
fn is_local(url: &str) -> bool {
    let port = authority(url).rsplit_once(':').map(|(_, port)| port);
    is_here(url) && !port.is_some_and(|port| table().has("store-ports", port))
}

/// This machine.
fn is_here(url: &str) -> bool {
    let authority = authority(url);
    let host = authority.split(':').next().unwrap_or_default();
    let ours = host
        .parse::<std::net::Ipv4Addr>()
        .is_ok_and(|ip| ip.is_loopback());
    let named = authority.starts_with("[::1]") || host == "localhost";
    !authority.contains('@') && (named || ours)
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#', '\\']).next().unwrap_or_default()
}

fn wget(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let apart = call.args.apart("OPoaUtTwARDeQiIXBl");
    let args = Args(&apart);
    let urls = args.operands(call.takes());
    let away = urls.is_empty() || !urls.iter().all(|url| url.exact && is_here(&url.text));
    let starts = |flag: &str| args.iter().any(|word| word.text.starts_with(flag));
    let method = args.values(&["--method"]);
    let deletes = |text: &Text| text.text.eq_ignore_ascii_case("delete");
    if method.iter().any(deletes) {
        analyzer.ask_online("it deletes on another machine");
    } else if !method.is_empty() || starts("--post-") || starts("--body-") {
        analyzer.find(Tier::WriteVisible, "it sends data to another machine", away);
    }
    analyzer.find(Tier::WriteLocal, "it talks to another machine", away);
    for program in args.values(&["--use-askpass"]) {
        analyzer.ask_online(format!("wget runs `{}`", program.text));
    }
    let sets = |word: &Text| word.text.starts_with("-e") && word.text.contains("output_document");
    if args.iter().any(sets) || starts("--execute") {
        let reason = "it takes settings from the command";
        analyzer.find(Tier::WriteVisible, reason, true);
    }
    for log in args.values(&["-o", "-a", "--output-file"]) {
        analyzer.write(&log, state, "writes to");
    }
    let document = args.values(&["-O", "--output-document"]);
    let printed = |path: &Text| path.text == "-" || path.text.starts_with("/dev/");
    if document.iter().any(printed) {
        return Some(Output::Foreign);
    }
    if let Some(path) = document.first() {
        saved(analyzer, path, state);
        return Some(Output::nothing());
    }
    let folders = args.values(&["-P", "--directory-prefix"]);
    let folder = folders.into_iter().next();
    for url in urls {
        let path = in_folder(folder.as_ref(), last_part(url));
        if !path.text.is_empty() {
            saved(analyzer, &path, state);
        }
    }
    Some(Output::nothing())
}

fn downloads(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    for path in call.args.values(&["-o", "--output", "--out", "--download"]) {
        saved(analyzer, &path, state);
    }
    if matches!(call.name, "aria2c" | "axel") {
        for url in call.args.operands(&["-o", "-d", "-x", "-s", "--dir"]) {
            saved(analyzer, &last_part(url), state);
        }
    }
    Some(Output::Foreign)
}

/// `host:path`, but not a path with a colon behind a slash.
fn is_remote(word: &str) -> bool {
    let host = word.split_once(':').map(|(host, _)| host);
    word.contains("::")
        || word.starts_with("rsync://")
        || word.starts_with("sftp://")
        || host.is_some_and(|host| !host.is_empty() && !host.contains('/'))
}

/// Flags that remove or run something while files are copied.
fn copy_flags(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let args = call.args;
    let removes =
        |word: &Text| word.text.starts_with("--del") || word.text.starts_with("--remove-source");
    if args.iter().any(removes) {
        analyzer.ask_online("it removes files while copying");
    }
    for program in args.values(&["-e", "--rsh", "--rsync-path", "-S"]) {
        let first = program.text.split_whitespace().next().unwrap_or_default();
        if first != "ssh" || program.text.contains("ProxyCommand") {
            analyzer.ask_online(format!("{} runs `{}`", call.name, program.text));
        }
    }
    if args.iter().any(|word| word.text.contains("ProxyCommand")) {
        analyzer.ask_online("the ssh option runs a command here");
    }
    None
}

fn copy_over(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    let operands = args.operands(call.takes());
    let dry = call.name == "rsync" && (args.short('n') || args.long("--dry-run"));
    let several = operands.len() > 1;
    let target = operands.last()?;
    let away = several && is_remote(&target.text);
    if call.name == "sftp" || away && !dry {
        analyzer.ask_online("it copies files to another machine");
    } else if several && !away {
        analyzer.write(target, state, "writes to");
        let fetched = operands.iter().any(|word| is_remote(&word.text));
        if let Some(full) = resolve(&target.text, state).filter(|_| fetched) {
            analyzer.find(Tier::WriteLocal, "it copies files", true);
            state.files.insert(full, Made::Foreign);
        }
    }
    None
}

fn openssl(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    if let Some("s_client" | "s_server") = args.get(0) {
        analyzer.find(Tier::WriteVisible, "it talks to another machine", true);
    }
    let targets = args.values(&["-out", "-keyout"]);
    for path in &targets {
        analyzer.write(path, state, "writes to");
    }
    let decodes = matches!(args.get(0), Some("enc" | "base64"));
    if !decodes || !targets.is_empty() {
        analyzer.local("it writes a file");
    }
    (decodes && args.short('d')).then_some(Output::Foreign)
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_this_machine_is_local() {
        let here = [
            "localhost",
            "http://localhost:3000/x",
            "http://127.0.0.1/",
            "http://[::1]:8/x",
        ];
        for url in here {
            assert!(is_local(url), "{url}");
        }
        for url in [
            "http://localhost.x.example/",
            "http://localhost@x.example/",
            "http://{localhost,x.example}/",
            "http://127.0.0.1.x.example",
            "http://x.example/localhost",
            "http://localhost:9200/_all",
            "",
        ] {
            assert!(!is_local(url), "{url}");
        }
    }
}
