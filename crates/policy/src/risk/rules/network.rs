//! Programs that talk to other machines.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    args::Args,
    place::{Place, resolve},
    simple::Call,
    state::{Made, Output, State},
    text::Text,
};

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    state: &mut State,
) -> Option<Output> {
    match call.name {
        "curl" => Some(curl(analyzer, call.args, state)),
        "wget" | "wget2" => Some(wget(analyzer, call.args, state)),
        "aria2c" | "axel" | "http" | "https" | "xh" | "lynx" | "w3m" | "links" | "fetch"
        | "ftp" | "lftp" | "tftp" => Some(other_client(analyzer, call, state)),
        "scp" | "sftp" | "rsync" | "rclone" => Some(copy(analyzer, call, state)),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "openssl" => sockets(analyzer, call, state),
        "ping" | "dig" | "nslookup" | "host" | "traceroute" | "whois" | "mtr" => {
            analyzer.find(Tier::WriteVisible, "it talks to another machine", true);
            Some(Output::Unknown)
        }
        _ => None,
    }
}

/// A download lands here; what is fetched is not ours to run.
fn saved(analyzer: &mut Analyzer<'_>, path: &Text, state: &mut State) {
    analyzer.find(Tier::WriteLocal, "it downloads a file", true);
    analyzer.write(path, state, "downloads to");
    if let Place::Inside(full) = analyzer.place(path, state) {
        state.files.insert(full, Made::Foreign);
    }
}

fn last_part(url: &Text) -> Text {
    let bare = url.text.split(['?', '#']).next().unwrap_or_default();
    let name = bare.rsplit('/').next().unwrap_or_default();
    Text {
        text: name.to_owned(),
        ..url.clone()
    }
}

const CURL_VALUES: &[&str] = &[
    "-o",
    "-H",
    "-d",
    "-X",
    "-A",
    "-b",
    "-c",
    "-e",
    "-u",
    "-x",
    "-F",
    "-T",
    "-w",
    "-m",
    "-D",
    "-E",
    "-K",
    "-r",
    "-y",
    "-Y",
    "-z",
    "-C",
    "-P",
    "-Q",
    "-t",
    "--output",
    "--header",
    "--data",
    "--request",
    "--user-agent",
    "--cookie",
    "--cookie-jar",
    "--referer",
    "--user",
    "--proxy",
    "--form",
    "--upload-file",
    "--write-out",
    "--max-time",
    "--dump-header",
    "--cert",
    "--config",
    "--range",
    "--retry",
    "--connect-timeout",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
    "--output-dir",
    "--resolve",
    "--cacert",
    "--key",
    "--url",
    "--trace",
    "--trace-ascii",
    "--stderr",
    "--unix-socket",
    "--retry-delay",
    "--limit-rate",
    "--interface",
];

fn curl(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &mut State) -> Output {
    let apart = args.apart("oHdXAbceuxFTwmDEKryYzCPQtU");
    let args = Args(&apart);
    analyzer.find(Tier::WriteLocal, "it talks to another machine", true);
    let method = args.values(&["-X", "--request"]);
    if method
        .iter()
        .any(|text| text.text.eq_ignore_ascii_case("delete"))
        && !stays_here(args)
    {
        analyzer.ask("it deletes on another machine", true);
    }
    let sends = args.iter().any(|word| {
        [
            "-d",
            "-F",
            "-T",
            "--data",
            "--form",
            "--upload-file",
            "--json",
        ]
        .iter()
        .any(|flag| word.text == *flag || flag.len() > 2 && word.text.starts_with(flag))
    }) || method
        .iter()
        .any(|text| matches!(text.text.to_uppercase().as_str(), "POST" | "PUT" | "PATCH"));
    if sends {
        analyzer.find(Tier::WriteVisible, "it sends data to another machine", true);
    }
    if !args.values(&["-K", "--config"]).is_empty() {
        analyzer.find(Tier::WriteVisible, "it takes its orders from a file", true);
    }
    let folder = args.values(&["--output-dir"]).into_iter().next();
    let mut targets = args.values(&[
        "-o",
        "--output",
        "-D",
        "--dump-header",
        "-c",
        "--cookie-jar",
        "--trace",
        "--trace-ascii",
        "--stderr",
    ]);
    let urls = args.operands(CURL_VALUES);
    let remote_name = args.short('O') || args.has("--remote-name") || args.has("--remote-name-all");
    if remote_name {
        targets.extend(urls.iter().map(|url| last_part(url)));
    }
    targets.retain(|target| target.text != "-");
    let to_file = !targets.is_empty();
    for target in targets {
        let target = match &folder {
            Some(folder) => Text {
                text: format!("{}/{}", folder.text, target.text),
                exact: false,
                placed: folder.placed && target.placed,
                glob: false,
            },
            None => target,
        };
        saved(analyzer, &target, state);
    }
    if to_file {
        Output::nothing()
    } else {
        Output::Foreign
    }
}

/// Whether every address is one of this machine. What is told to go another
/// way does not stay.
fn stays_here(args: Args<'_>) -> bool {
    let detour = [
        "-x",
        "--proxy",
        "--resolve",
        "--connect-to",
        "--preproxy",
        "-K",
        "--config",
    ];
    let mut urls: Vec<Text> = args.operands(CURL_VALUES).into_iter().cloned().collect();
    urls.extend(args.values(&["--url"]));
    args.values(&detour).is_empty()
        && !urls.is_empty()
        && urls.iter().all(|url| url.exact && is_local(&url.text))
}

/// Ports where stores and daemons listen: what is deleted there is data.
const STORES: [&str; 9] = [
    "2375", "2379", "5984", "6333", "7700", "8123", "8500", "9200", "9201",
];

fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains('@') {
        return false;
    }
    if authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| STORES.contains(&port))
    {
        return false;
    }
    if authority.starts_with("[::1]") {
        return true;
    }
    let host = authority.split(':').next().unwrap_or_default();
    host == "localhost"
        || host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|ip| ip.is_loopback())
}

fn wget(analyzer: &mut Analyzer<'_>, args: Args<'_>, state: &mut State) -> Output {
    let apart = args.apart("OPoaUtTwARDeQiIXBl");
    let args = Args(&apart);
    if args
        .values(&["--method"])
        .iter()
        .any(|text| text.text.eq_ignore_ascii_case("delete"))
    {
        analyzer.ask("it deletes on another machine", true);
    } else if !args.values(&["--method"]).is_empty() {
        analyzer.find(Tier::WriteVisible, "it sends data to another machine", true);
    }
    analyzer.find(Tier::WriteLocal, "it talks to another machine", true);
    if args
        .iter()
        .any(|word| word.text.starts_with("--post-") || word.text.starts_with("--body-"))
    {
        analyzer.find(Tier::WriteVisible, "it sends data to another machine", true);
    }
    for program in args.values(&["--use-askpass"]) {
        analyzer.ask(format!("wget runs `{}`", program.text), true);
    }
    if args.iter().any(|word| {
        word.text.starts_with("-e") && word.text.contains("output_document")
            || word.text.starts_with("--execute")
    }) {
        analyzer.find(
            Tier::WriteVisible,
            "it takes settings from the command",
            true,
        );
    }
    let document = args.values(&["-O", "--output-document"]);
    for log in args.values(&["-o", "-a", "--output-file"]) {
        analyzer.write(&log, state, "writes to");
    }
    if document
        .iter()
        .any(|path| path.text == "-" || path.text.starts_with("/dev/"))
    {
        return Output::Foreign;
    }
    let folder = args
        .values(&["-P", "--directory-prefix"])
        .into_iter()
        .next();
    if let Some(path) = document.first() {
        saved(analyzer, path, state);
        return Output::nothing();
    }
    for url in args.operands(&[
        "-O",
        "-P",
        "-o",
        "-a",
        "-U",
        "-t",
        "-T",
        "-w",
        "-A",
        "-R",
        "-D",
        "-e",
        "-Q",
        "--header",
        "--user",
        "--password",
        "--post-data",
        "-i",
    ]) {
        let name = last_part(url);
        let path = match &folder {
            Some(folder) => Text {
                text: format!("{}/{}", folder.text, name.text),
                placed: folder.placed && name.placed,
                exact: false,
                glob: false,
            },
            None => name,
        };
        if !path.text.is_empty() {
            saved(analyzer, &path, state);
        }
    }
    Output::nothing()
}

fn other_client(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Output {
    analyzer.find(Tier::WriteVisible, "it talks to another machine", true);
    if call.args.any(&["DELETE", "delete"]) {
        analyzer.ask("it deletes on another machine", true);
    }
    for path in call.args.values(&["-o", "--output", "--out", "--download"]) {
        saved(analyzer, &path, state);
    }
    if matches!(call.name, "aria2c" | "axel") {
        for url in call.args.operands(&["-o", "-d", "-x", "-s", "--dir"]) {
            saved(analyzer, &last_part(url), state);
        }
    }
    Output::Foreign
}

/// `host:path`, but not `C:\` and not a path with a colon behind a slash.
fn is_remote(word: &str) -> bool {
    word.contains("::")
        || word.starts_with("rsync://")
        || word.starts_with("sftp://")
        || word
            .split_once(':')
            .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

fn copy(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Output {
    let args = call.args;
    analyzer.find(Tier::WriteLocal, "it copies files", false);
    if args
        .iter()
        .any(|word| word.text.starts_with("--del") || word.text.starts_with("--remove-source"))
    {
        analyzer.ask("it removes files while copying", true);
    }
    for program in args.values(&["-e", "--rsh", "--rsync-path", "-S"]) {
        let first = program.text.split_whitespace().next().unwrap_or_default();
        if first != "ssh" || program.text.contains("ProxyCommand") {
            analyzer.ask(format!("{} runs `{}`", call.name, program.text), true);
        }
    }
    if args.iter().any(|word| word.text.contains("ProxyCommand")) {
        analyzer.ask("the ssh option runs a command here", true);
    }
    if call.name == "rclone" {
        let looks = [
            "ls",
            "lsl",
            "lsd",
            "lsf",
            "lsjson",
            "size",
            "check",
            "version",
            "listremotes",
            "cat",
            "about",
            "tree",
            "md5sum",
        ];
        if !args.get(0).is_some_and(|verb| looks.contains(&verb)) {
            analyzer.ask("it changes remote storage", true);
        }
        return Output::Unknown;
    }
    let with_value = [
        "-P",
        "-i",
        "-o",
        "-F",
        "-l",
        "-c",
        "-J",
        "-S",
        "-e",
        "-f",
        "-T",
        "--exclude",
        "--include",
        "--rsh",
        "--exclude-from",
        "--include-from",
        "--files-from",
        "--rsync-path",
        "-B",
    ];
    let operands = args.operands(&with_value);
    let dry = call.name == "rsync" && (args.short('n') || args.long("--dry-run"));
    let target = operands.last().filter(|_| operands.len() > 1);
    let to_remote = target.is_some_and(|target| is_remote(&target.text));
    match operands.last() {
        Some(_) if call.name == "sftp" => analyzer.ask("it copies files to another machine", true),
        Some(_) if to_remote && dry => {}
        Some(_) if to_remote => analyzer.ask("it copies files to another machine", true),
        Some(target) if operands.len() > 1 => {
            analyzer.write(target, state, "writes to");
            if operands.iter().any(|word| is_remote(&word.text))
                && let Some(full) = resolve(&target.text, state)
            {
                analyzer.find(Tier::WriteLocal, "it copies files", true);
                state.files.insert(full, Made::Foreign);
            }
        }
        _ => {}
    }
    Output::Unknown
}

fn sockets(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    let args = call.args;
    if call.name == "openssl" {
        if let Some("s_client" | "s_server") = args.get(0) {
            analyzer.find(Tier::WriteVisible, "it talks to another machine", true);
        }
        let targets = args.values(&["-out", "-keyout"]);
        for path in &targets {
            analyzer.write(path, state, "writes to");
        }
        let decodes = matches!(args.get(0), Some("enc" | "base64"));
        if !decodes || !targets.is_empty() {
            analyzer.find(Tier::WriteLocal, "it writes a file", false);
        }
        return Some(if decodes && args.short('d') {
            Output::Foreign
        } else {
            Output::Unknown
        });
    }
    analyzer.find(Tier::WriteVisible, "it talks to another machine", true);
    let runs = match call.name {
        "socat" => args.iter().any(|word| {
            let upper = word.text.to_uppercase();
            upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:") || upper.contains("EXEC:")
        }),
        "telnet" => false,
        _ => {
            args.short('e')
                || args.short('c') && call.name != "nc"
                || args.has("--exec")
                || args.has("--sh-exec")
                || args.has("-c")
        }
    };
    if runs {
        analyzer.ask("it connects a command to the network", true);
    }
    Some(Output::Foreign)
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_this_machine_is_local() {
        for url in [
            "localhost",
            "http://localhost:3000/x",
            "http://127.0.0.1/",
            "http://[::1]:8/x",
        ] {
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
