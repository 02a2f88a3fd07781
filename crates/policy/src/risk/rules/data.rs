//! Database clients and what they are told.

use butler_protocol::Tier;

use super::super::{
    analyzer::Analyzer,
    bodies::sql,
    simple::Call,
    state::{Output, State, Stdin},
};

const SQL_CLIENTS: [&str; 24] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "mysqlsh",
    "sqlcmd",
    "isql",
    "duckdb",
    "pgcli",
    "mycli",
    "litecli",
    "usql",
    "cqlsh",
    "clickhouse-client",
    "clickhouse",
    "snowsql",
    "sqlplus",
    "cockroach",
    "trino",
    "presto",
    "beeline",
    "hive",
    "osql",
];

pub(super) fn judge(
    analyzer: &mut Analyzer<'_>,
    call: &Call<'_>,
    _state: &mut State,
) -> Option<Output> {
    let args = call.args;
    let stdin = match call.stdin {
        Stdin::Text(text) => Some(text.as_str()),
        _ => None,
    };
    match call.name {
        name if SQL_CLIENTS.contains(&name) => {
            analyzer.find(Tier::WriteLocal, "it talks to a database", false);
            for text in args.iter().map(|word| word.as_str()).chain(stdin) {
                let text = inline_value(text);
                if let Some(statement) = sql::destructive(text) {
                    analyzer.ask(format!("it tells the database `{statement}`"), false);
                }
            }
        }
        "bq" | "databricks" => {
            analyzer.find(Tier::WriteVisible, "it talks to a database", true);
            if args.any(&["rm", "delete"])
                || args
                    .iter()
                    .any(|word| sql::destructive(&word.text).is_some())
            {
                analyzer.ask("it removes data", true);
            }
        }
        "mongo" | "mongosh" | "redis-cli" | "valkey-cli" | "keydb-cli" => {
            analyzer.find(Tier::WriteLocal, "it talks to a database", false);
            store(analyzer, call, stdin);
        }
        "dropdb" | "dropuser" | "pg_dropcluster" | "mongorestore" | "pg_resetwal" => {
            analyzer.ask(format!("`{}` drops or overwrites data", call.name), false);
        }
        "createuser" => analyzer.ask("it creates a database user", false),
        "pg_restore" => {
            analyzer.find(Tier::WriteLocal, "it talks to a database", false);
            if args.short('c') || args.long("--clean") {
                analyzer.ask("it drops what it restores", false);
            }
        }
        "mysqladmin" => {
            analyzer.find(Tier::WriteLocal, "it talks to a database", false);
            if args.any(&["drop", "shutdown", "password", "flush-privileges", "kill"]) {
                analyzer.ask("it drops data or changes the server", false);
            }
        }
        "etcdctl" | "consul" | "zkCli.sh" => {
            analyzer.find(Tier::WriteLocal, "it talks to a store", false);
            if args.any(&[
                "del",
                "delete",
                "rm",
                "rmr",
                "deleteall",
                "leave",
                "force-leave",
            ]) {
                analyzer.ask("it removes data", false);
            }
        }
        "rabbitmqctl" | "rabbitmqadmin" | "nats" | "influx" => {
            analyzer.find(Tier::WriteLocal, "it talks to a store", false);
            let looks = ["list_", "status", "list", "ls", "info", "ping"];
            let verb = args
                .operands(&["-n", "-p"])
                .first()
                .map_or("", |w| w.as_str());
            if args.any(&[
                "reset",
                "force_reset",
                "delete",
                "purge",
                "purge_queue",
                "delete_queue",
                "delete_user",
                "stop",
                "rm",
                "change_password",
                "add_user",
            ]) && !looks.iter().any(|look| verb.starts_with(look))
            {
                analyzer.ask("it removes data or users", false);
            }
        }
        name if name.starts_with("kafka-") => {
            analyzer.find(Tier::WriteLocal, "it talks to a store", false);
            if args.has("--delete")
                || name == "kafka-delete-records"
                || name == "kafka-delete-records.sh"
            {
                analyzer.ask("it removes data", false);
            }
        }
        _ => return None,
    }
    Some(Output::Unknown)
}

/// `-cDROP …`, `--execute=DROP …`: the text behind the flag.
fn inline_value(word: &str) -> &str {
    match word.strip_prefix("--") {
        Some(_) => word.split_once('=').map_or(word, |(_, value)| value),
        None if word.starts_with('-') => word.get(2..).unwrap_or(word),
        None => word,
    }
}

fn store(analyzer: &mut Analyzer<'_>, call: &Call<'_>, stdin: Option<&str>) {
    let words: Vec<&str> = call.args.iter().map(|word| word.as_str()).collect();
    let text = words.join(" ");
    for text in std::iter::once(text.as_str()).chain(stdin) {
        if let Some(command) = sql::store_command(text) {
            analyzer.ask(format!("it tells the store `{command}`"), false);
        }
        if !call.name.starts_with("mongo") {
            let loud = [
                "del",
                "unlink",
                "shutdown",
                "debug",
                "eval",
                "script",
                "rename",
                "migrate",
                "replicaof",
                "slaveof",
            ];
            let told = text.lines().chain([text]).any(|line| {
                line.split_whitespace()
                    .any(|word| loud[..3].contains(&word.to_lowercase().as_str()))
            }) || words.windows(2).any(|pair| {
                pair[0].eq_ignore_ascii_case("config") && pair[1].eq_ignore_ascii_case("set")
            });
            if told {
                analyzer.ask("it removes keys or changes the server", false);
            }
        }
    }
}
