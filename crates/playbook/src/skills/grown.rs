//! A skill that grows out of requests: from the third one that is alike on, what they
//! share is a trigger, what differs its value, and the steps are those of the plan that
//! was approved last. Made by code and tried against the very words that led to it.

use butler_protocol::{Plan, Role};

use super::{
    skill::render_skill,
    template::Template,
    trigger::{Said, Trigger},
};
use crate::{Playbook, Shortcut, Skill, one_line};

/// So many make a habit.
const ENOUGH: usize = 3;
/// What differs may be a name or a few words, not a story.
const MOST_WORDS: usize = 6;
const VALUE: &str = "target";

/// A request that was built, and how.
#[derive(Debug, Clone)]
pub struct Built {
    /// The person's words.
    pub request: String,
    /// The plan that they approved.
    pub plan: Plan,
}

/// A skill that could be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// Below `.codebutler/`.
    pub file: String,
    /// The whole file.
    pub text: String,
    /// The requests that it would have answered, the oldest first.
    pub phrases: Vec<String>,
}

impl Playbook {
    /// The skill that the newest request and those like it ask for; nothing before
    /// there are three, or where a skill or workflow answers them already.
    pub fn grown_skill(&self, built: &[Built]) -> Option<Grown> {
        let (newest, before) = built.split_last()?;
        let own = words(&newest.request);
        let alike = before.iter().filter(|one| {
            let other = words(&one.request);
            shared(&[own.clone(), other]).is_some()
        });
        let alike: Vec<&Built> = alike.chain([newest]).collect();
        let open = |one: &&Built| self.shortcut(Role::Pm, &one.request) == Shortcut::Open;
        let alike: Vec<&Built> = alike.into_iter().filter(open).collect();
        if alike.len() < ENOUGH {
            return None;
        }
        let all: Vec<Vec<&str>> = alike.iter().map(|one| words(&one.request)).collect();
        let pattern = shared(&all)?;
        let skill = self.made_from(&pattern, &own, &newest.plan)?;
        let phrases: Vec<String> = alike.iter().map(|one| one.request.clone()).collect();
        let grown = Grown {
            file: format!("skills/{}.md", skill.name),
            text: render_skill(&skill),
            phrases,
        };
        self.holds(&grown).then_some(grown)
    }

    fn made_from(&self, pattern: &Pattern<'_>, own: &[&str], plan: &Plan) -> Option<Skill> {
        let value = own[pattern.before.len()..own.len() - pattern.after.len()].join(" ");
        let mut trigger = pattern.before.clone();
        let hole = format!("{{{VALUE}}}");
        if !value.is_empty() {
            trigger.push(&hole);
        }
        trigger.extend(&pattern.after);
        let trigger = Trigger::parse(&trigger.join(" ")).ok()?;
        let fill = |text: &str| match value.as_str() {
            "" => text.to_owned(),
            value => text.replace(value, &format!("{{{{{VALUE}}}}}")),
        };
        let mut prompt = fill(&plan.summary);
        let last = "`RunChecks`, then `HandOver(kind: ready_for_review)`.".to_owned();
        let steps = plan.steps.iter().map(|step| fill(&step.text)).chain([last]);
        prompt.push('\n');
        for (number, step) in (1..).zip(steps) {
            prompt.push_str(&format!("\n{number}. {}", one_line(&step)));
        }
        if !plan.criteria.is_empty() {
            let criteria: Vec<String> = plan.criteria.iter().map(|one| fill(one)).collect();
            prompt.push_str(&format!("\n\nDone when: {}.", criteria.join("; ")));
        }
        if !value.is_empty() && !prompt.contains("{{") {
            prompt = format!("This time for: {{{{{VALUE}}}}}.\n\n{prompt}");
        }
        let name = self.free_name(pattern)?;
        let (prompt, wrong) = Template::parse(&prompt);
        wrong.is_empty().then(|| Skill {
            description: one_line(&format!("As asked for before: {}.", trigger.text())),
            name,
            triggers: vec![trigger],
            agent: Role::Coder,
            changes_code: true,
            prompt,
            folder: None,
        })
    }

    fn free_name(&self, pattern: &Pattern<'_>) -> Option<String> {
        let words = pattern.before.iter().chain(&pattern.after);
        let plain = words.map(|word| {
            let letters = word.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_lowercase()
        });
        let plain: Vec<String> = plain.filter(|word| !word.is_empty()).take(4).collect();
        let name = plain.join("-");
        let taken = |name: &str| self.menu().iter().any(|item| item.name == name);
        let numbered = (2..9).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| !name.is_empty() && !taken(name))
    }

    /// Whether the file is a skill, and the words that led to it would start it.
    fn holds(&self, grown: &Grown) -> bool {
        let path = format!(".codebutler/{}", grown.file);
        let with = self.with_file(path, grown.text.clone());
        let sound = with.problems().iter().all(|one| one.file != grown.file);
        let mut phrases = grown.phrases.iter();
        sound && phrases.all(|phrase| with.plan_of(phrase).is_some())
    }
}

/// What requests begin and end with alike.
struct Pattern<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
}

/// The words of a request as a trigger compares them.
fn words(request: &str) -> Vec<&str> {
    Said::new(request).words().to_vec()
}

/// What all of these share around one place where they differ; nothing when that is
/// too little to be a kind.
fn shared<'a>(all: &[Vec<&'a str>]) -> Option<Pattern<'a>> {
    let first = all.first()?;
    let shortest = all.iter().map(Vec::len).min()?;
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let at_start =
        (0..shortest).take_while(|at| all.iter().all(|words| same(words[*at], first[*at])));
    let start = at_start.count();
    let end = (0..shortest - start).take_while(|back| {
        let of = |words: &Vec<&'a str>| words[words.len() - 1 - back];
        all.iter().all(|words| same(of(words), of(first)))
    });
    let end = end.count();
    let pattern = Pattern {
        before: first[..start].to_vec(),
        after: first[first.len() - end..].to_vec(),
    };
    let common = start + end;
    let holes = all.iter().map(|words| words.len() - common);
    let (least, most) = (holes.clone().min()?, holes.max()?);
    let telling = pattern.before.iter().chain(&pattern.after);
    let telling = telling.filter(|word| word.chars().count() > 3).count();
    let one_place = most == 0 || (least > 0 && most <= MOST_WORDS);
    (common >= 2 && telling >= 1 && one_place && common * 2 >= shortest).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Complexity, PlanStep};

    use super::*;
    use crate::parse_skill;

    fn built(request: &str, target: &str) -> Built {
        let step = |text: String| PlanStep { text, place: None };
        Built {
            request: request.into(),
            plan: Plan {
                title: format!("An option {target}"),
                summary: format!("`notes.sh` takes {target}."),
                steps: vec![
                    step(format!("read {target} beside the command")),
                    step("test it".into()),
                ],
                criteria: vec![format!("{target} is in the usage")],
                files: Vec::new(),
                rejected: Vec::new(),
                complexity: Complexity::Simple,
                estimate: None,
                cap: None,
                model: None,
                design: None,
            },
        }
    }

    #[test]
    fn the_third_request_of_a_kind_makes_a_skill_that_answers_all_three() {
        let book = Playbook::new([]);
        let mut all = vec![
            built("please support the option --json in list", "--json"),
            built("what a day", "x"),
            built("support the option --count in list", "--count"),
        ];
        assert_eq!(book.grown_skill(&all), None, "two are no habit");
        all.push(built(
            "Support the option --sort by date in list.",
            "--sort by date",
        ));
        let grown = book.grown_skill(&all).unwrap();
        assert_eq!(grown.file, "skills/support-the-option-in.md");
        assert_eq!(grown.phrases.len(), 3);
        let skill = parse_skill(&grown.file, &grown.text).unwrap();
        let trigger = skill.triggers[0].text().to_lowercase();
        assert_eq!(trigger, "support the option {target} in list");
        for part in [
            "1. read {{target}} beside the command",
            "3. `RunChecks`",
            "{{target}} is in the usage",
        ] {
            assert!(grown.text.contains(part), "{part}: {}", grown.text);
        }
        // Kept, it answers the fourth by itself.
        let file = format!(".codebutler/{}", grown.file);
        let with = Playbook::new([(file, grown.text)]);
        let plan = with.plan_of("support the option --all in list").unwrap();
        assert!(plan.steps[0].text.contains("--all"), "{plan:?}");
        all.push(built("support the option --all in list", "--all"));
        assert_eq!(with.grown_skill(&all), None, "there is one already");
    }

    #[test]
    fn what_only_looks_alike_is_no_kind() {
        let book = Playbook::new([]);
        for requests in [
            ["fix it", "fix that", "fix this"],
            ["add tags to notes", "remove tags from lists", "add search"],
            [
                "why is it slow",
                "why is it so slow today when I list many notes at once",
                "why is it red",
            ],
        ] {
            let all: Vec<Built> = requests.iter().map(|one| built(one, "x")).collect();
            let grown = book.grown_skill(&all);
            assert!(grown.is_none(), "{requests:?}: {grown:?}");
        }
        let known = [
            "write tests for a.sh",
            "write tests for b.sh",
            "write tests for c.sh",
        ];
        let all: Vec<Built> = known.iter().map(|one| built(one, "x")).collect();
        assert_eq!(book.grown_skill(&all), None, "a skill answers it");
    }
}
