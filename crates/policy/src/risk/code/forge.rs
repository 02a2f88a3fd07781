//! gh and its kin where the verb alone does not tell: workflows and the API.

use super::builds::script_name;
use super::*;
pub(super) const CODE: &[(&str, Code)] = &[("forge-workflow", workflow), ("forge-api", api)];

/// A workflow that is named for a deployment.
fn workflow(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    let (group, rest) = call.args.subcommand(&["-R", "--repo"])?;
    let (verb, _) = rest.subcommand(&["-R", "--repo"])?;
    let deploys = rest.iter().any(|word| {
        let name = word.text.trim_end_matches(".yml").trim_end_matches(".yaml");
        script_name(&format!("./{name}")).is_some()
    });
    if (group, verb) == ("workflow", "run") && deploys {
        analyzer.ask_online("it starts a deployment");
    }
    None
}

fn api(analyzer: &mut Analyzer<'_>, call: &Call<'_>, _: &mut State) -> Option<Output> {
    const FIELDS: [&str; 5] = ["-f", "-F", "--field", "--raw-field", "--input"];
    let group = call.args.subcommand(&["-R", "--repo"]);
    let (_, rest) = group.filter(|(group, _)| *group == "api")?;
    let method = rest.values(&["-X", "--method"]);
    let method = method.first().map(|text| text.text.to_uppercase());
    let method = method.unwrap_or_default();
    let mutation = rest.iter().any(|word| {
        let text = word.text.to_lowercase();
        text.contains("mutation") && text.contains("delete")
    });
    if method == "DELETE" || mutation {
        analyzer.ask_online("it deletes on the forge");
    } else if matches!(method.as_str(), "POST" | "PUT" | "PATCH")
        || method != "GET" && rest.any(&FIELDS)
    {
        analyzer.find(Tier::WriteVisible, "it writes on the forge", true);
    }
    analyzer.find(Tier::Read, "", true);
    Some(Output::Unknown)
}
