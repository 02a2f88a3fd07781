//! Keys that vendors mark with a prefix of their own.
//!
//! Each rule is a literal beginning and what must follow it. Beginnings that
//! could open ordinary words demand more of what follows.

use std::sync::LazyLock;

use regex::Regex;

use super::spans::Spans;

/// The beginning (matched without case), then a pattern for the whole key.
const RULES: &[(&str, &str)] = &[
    // models
    (
        "sk-",
        r"sk-(?:ant|proj|or|svcacct|admin|None|lf|live|test)[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_]{20,}(?:-[A-Za-z0-9_-]*)?|sk-[A-Za-z0-9]{2,12}-[A-Za-z0-9_-]{20,}",
    ),
    ("gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    ("xai-", r"xai-[A-Za-z0-9]{30,}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    ("r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("hf_", r"hf_[A-Za-z0-9]{20,}"),
    ("api_org_", r"api_org_[A-Za-z0-9]{20,}"),
    ("lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}"),
    ("fw_", r"fw_[A-Za-z0-9]{24,}"),
    ("tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{20,}"),
    ("nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("csk-", r"csk-[a-z0-9]{40,}"),
    // forges and registries
    ("ghp_", r"ghp_[A-Za-z0-9]{20,}"),
    ("gho_", r"gho_[A-Za-z0-9]{20,}"),
    ("ghu_", r"ghu_[A-Za-z0-9]{20,}"),
    ("ghs_", r"ghs_[A-Za-z0-9]{20,}"),
    ("ghr_", r"ghr_[A-Za-z0-9]{20,}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_.-]{16,}"),
    ("gldt-", r"gldt-[A-Za-z0-9_-]{16,}"),
    ("glptt-", r"glptt-[A-Za-z0-9_-]{16,}"),
    ("glrt-", r"glrt-[A-Za-z0-9_.-]{16,}"),
    ("glcbt-", r"glcbt-[A-Za-z0-9_-]{16,}"),
    ("glsoat-", r"glsoat-[A-Za-z0-9_-]{16,}"),
    ("gloas-", r"gloas-[A-Za-z0-9_-]{16,}"),
    ("npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
    ("rubygems_", r"rubygems_[a-f0-9]{32,}"),
    ("clojars_", r"clojars_[a-z0-9]{40,}"),
    ("cio", r"cio[A-Za-z0-9]{32}\b"),
    ("dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("oy2", r"oy2[a-z0-9]{43}\b"),
    ("atctt3", r"ATCTT3[A-Za-z0-9_=-]{30,}"),
    ("atatt3", r"ATATT3[A-Za-z0-9_=-]{30,}"),
    ("atbb", r"ATBB[A-Za-z0-9]{28,}"),
    ("bkua_", r"bkua_[a-f0-9]{40}"),
    ("cciprj_", r"CCIPRJ_[A-Za-z0-9_]{20,}"),
    ("ccipat_", r"CCIPAT_[A-Za-z0-9_]{20,}"),
    ("sgp_", r"sgp_[A-Za-z0-9_]{30,}"),
    ("jfrog", r"jfrog[A-Za-z0-9]{30,}"),
    ("akcp", r"AKCp[A-Za-z0-9]{60,}"),
    // chat
    ("xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    ("xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    ("xwfp-", r"xwfp-[A-Za-z0-9-]{10,}"),
    (
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}",
    ),
    (
        "discord.com/api/webhooks/",
        r"discord\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{20,}",
    ),
    (
        "discordapp.com/api/webhooks/",
        r"discordapp\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{20,}",
    ),
    (":aa", r":AA[A-Za-z0-9_-]{32,34}\b"),
    (
        "webhook.office.com/",
        r"webhook\.office\.com/[A-Za-z0-9@/_-]{40,}",
    ),
    // clouds
    ("akia", r"AKIA[A-Z0-9]{12,}"),
    ("asia", r"ASIA[A-Z0-9]{16}\b"),
    ("abia", r"ABIA[A-Z0-9]{16}\b"),
    ("acca", r"ACCA[A-Z0-9]{16}\b"),
    ("aroa", r"AROA[A-Z0-9]{16}\b"),
    ("fwogzxivyxdzE", r"FwoGZXIvYXdzE[A-Za-z0-9/+=]{20,}"),
    ("iqojb3jpz2lu", r"IQoJb3JpZ2lu[A-Za-z0-9/+=]{20,}"),
    ("absk", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("aiza", r"AIza[A-Za-z0-9_-]{30,}"),
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    ("1//0", r"1//0[A-Za-z0-9_-]{30,}"),
    ("ltai", r"LTAI[A-Za-z0-9]{12,30}\b"),
    ("akid", r"AKID[A-Za-z0-9]{20,40}\b"),
    ("dop_v1_", r"dop_v1_[a-f0-9]{40,}"),
    ("doo_v1_", r"doo_v1_[a-f0-9]{40,}"),
    ("dor_v1_", r"dor_v1_[a-f0-9]{40,}"),
    ("nfp_", r"nfp_[A-Za-z0-9]{30,}"),
    ("fm2_", r"fm2_[A-Za-z0-9+/=_-]{40,}"),
    ("fo1_", r"fo1_[A-Za-z0-9_-]{30,}"),
    ("rnd_", r"rnd_[A-Za-z0-9]{24,}"),
    ("hrku-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    ("sbp_", r"sbp_[a-f0-9]{32,}"),
    ("sb_secret_", r"sb_secret_[A-Za-z0-9_-]{20,}"),
    ("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}"),
    ("hvs.", r"hvs\.[A-Za-z0-9_-]{20,}"),
    ("hvb.", r"hvb\.[A-Za-z0-9_-]{20,}"),
    ("hvr.", r"hvr\.[A-Za-z0-9_-]{20,}"),
    (".atlasv1.", r"\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    ("pul-", r"pul-[a-f0-9]{40}"),
    ("tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{10,}"),
    ("dapi", r"dapi[a-f0-9]{32}(?:-[0-9])?\b"),
    (
        "dp.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{30,}",
    ),
    ("age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("ops_", r"ops_eyJ[A-Za-z0-9+/=]{40,}"),
    ("accountkey=", r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
    (
        "sharedaccesskey=",
        r"SharedAccessKey=[A-Za-z0-9+/]{30,}={0,2}",
    ),
    ("sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}"),
    ("cfut_", r"cfut_[A-Za-z0-9_-]{30,}"),
    // payment, mail, metrics, others
    ("sk_live_", r"sk_live_[A-Za-z0-9]{10,}"),
    ("sk_test_", r"sk_test_[A-Za-z0-9]{10,}"),
    ("rk_live_", r"rk_live_[A-Za-z0-9]{10,}"),
    ("rk_test_", r"rk_test_[A-Za-z0-9]{10,}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
    ("eaaa", r"EAAA[A-Za-z0-9_-]{56,}"),
    ("eaac", r"EAAC[A-Za-z0-9]{60,}"),
    ("shpat_", r"shpat_[a-fA-F0-9]{32}"),
    ("shpss_", r"shpss_[a-fA-F0-9]{32}"),
    ("shpca_", r"shpca_[a-fA-F0-9]{32}"),
    ("shppa_", r"shppa_[a-fA-F0-9]{32}"),
    ("sg.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("key-", r"key-[a-f0-9]{32}\b"),
    ("xkeysib-", r"xkeysib-[A-Za-z0-9-]{40,}"),
    ("re_", r"re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{20,}"),
    ("-us1", r"-us[0-9]{1,2}\b"),
    ("-us2", r"-us[0-9]{1,2}\b"),
    ("-us3", r"-us[0-9]{1,2}\b"),
    ("-us4", r"-us[0-9]{1,2}\b"),
    ("-us5", r"-us[0-9]{1,2}\b"),
    ("-us6", r"-us[0-9]{1,2}\b"),
    ("-us7", r"-us[0-9]{1,2}\b"),
    ("-us8", r"-us[0-9]{1,2}\b"),
    ("-us9", r"-us[0-9]{1,2}\b"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    ("figd_", r"figd_[A-Za-z0-9_-]{30,}"),
    ("secret_", r"secret_[A-Za-z0-9]{40,}"),
    ("ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("nrak-", r"NRAK-[A-Z0-9]{20,}"),
    ("nrii-", r"NRII-[A-Za-z0-9-]{20,}"),
    ("nrjs-", r"NRJS-[a-f0-9]{19}"),
    ("glsa_", r"glsa_[A-Za-z0-9]{30,}_[a-f0-9]{8}"),
    ("glc_", r"glc_[A-Za-z0-9+/=]{30,}"),
    ("sntrys_", r"sntrys_[A-Za-z0-9+/=_-]{40,}"),
    ("sntryu_", r"sntryu_[a-f0-9]{40,}"),
    ("cfpat-", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    ("ezak", r"EZAK[A-Za-z0-9]{54}"),
    ("eztk", r"EZTK[A-Za-z0-9]{54}"),
    ("duffel_", r"duffel_(?:test|live)_[A-Za-z0-9_-]{40,}"),
    ("flwseck", r"FLWSECK(?:_TEST)?-[A-Za-z0-9-]{20,}"),
    ("phx_", r"phx_[A-Za-z0-9]{30,}"),
    ("pat-", r"pat-(?:na|eu)[0-9]-[a-f0-9-]{36}"),
    ("pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("sk", r"SK[a-f0-9]{32}\b"),
    ("rdme_", r"rdme_[a-zA-Z0-9]{40,}"),
    ("shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    ("tfp_", r"tfp_[A-Za-z0-9_-]{40,}"),
    (
        "a3-",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b",
    ),
    ("sl.", r"sl\.[A-Za-z0-9_-]{60,}"),
    ("amzn.mws.", r"amzn\.mws\.[a-f0-9-]{36}"),
    ("dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("live_", r"live_[a-f0-9]{35}\b"),
    ("ion_", r"ion_[a-z0-9]{42}"),
    ("rpa_", r"rpa_[A-Z0-9]{40,}"),
    ("apify_api_", r"apify_api_[A-Za-z0-9]{30,}"),
    ("tvly-", r"tvly-[A-Za-z0-9-]{20,}"),
    ("bsa", r"BSA[A-Za-z0-9_-]{24,30}\b"),
    ("fc-", r"fc-[a-f0-9]{32}\b"),
    ("zpka_", r"zpka_[a-z0-9]{32}_[a-z0-9]{8}"),
    ("ico-", r"ico-[A-Za-z0-9]{32}\b"),
    // three parts of JSON
    (
        "eyj",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}",
    ),
    // header values without a name in front
    ("bearer ", r"(?i:bearer) +[A-Za-z0-9_.~+/=-]{16,}"),
    ("basic ", r"(?i:basic) +[A-Za-z0-9+/]{12,}={1,2}"),
];

static PATTERNS: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|(_, pattern)| Regex::new(&format!(r"\A(?:{pattern})")).ok())
        .collect()
});

/// The beginnings, in the order of the rules.
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(prefix, _)| *prefix)
}

/// A key is shorter than this.
const LONGEST: usize = 16 * 1024;

pub(super) fn look(rule: usize, text: &str, start: usize, spans: &mut Spans) {
    let (prefix, _) = RULES[rule];
    let bytes = text.as_bytes();
    // Cheap first: something must follow, and a key does not begin in a word.
    let after = start + prefix.len();
    let follows = bytes
        .get(after)
        .is_some_and(|b| b.is_ascii_graphic() || *b == b' ');
    if !follows || !begins(bytes, start, prefix) {
        return;
    }
    let Some(pattern) = &PATTERNS[rule] else {
        return;
    };
    let mut limit = (start + LONGEST).min(text.len());
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let Some(hit) = pattern.find(&text[start..limit]) else {
        return;
    };
    let end = start + hit.end();
    match prefix {
        "eyj" => spans.add(start, trimmed(bytes, start, end), "jwt".into()),
        "bearer " | "basic " => header(text, start, end, spans),
        ":aa" => telegram(bytes, start, end, spans),
        prefix if prefix.starts_with("-us") => mailchimp(bytes, start, end, spans),
        ".atlasv1." => {
            let from = run_before(bytes, start, 20);
            if start - from >= 10 {
                spans.add(from, end, "api_key".into());
            }
        }
        _ if is_dull(&text[start..end], prefix.len()) => {}
        _ => {
            spans.add(start, trimmed(bytes, start, end), "api_key".into());
            if matches!(prefix, "akia" | "asia") {
                partner(text, end, spans);
            }
        }
    }
}

/// Whether a key may begin here: not inside a word, unless the letter before
/// belongs to an escape such as `\n`.
fn begins(bytes: &[u8], start: usize, prefix: &str) -> bool {
    if prefix.starts_with([':', '-', '.']) || prefix.contains('/') {
        return true;
    }
    match start.checked_sub(1).map(|at| bytes[at]) {
        None => true,
        Some(b) if b.is_ascii_alphanumeric() => {
            start >= 2 && bytes[start - 2] == b'\\' && matches!(b, b'n' | b't' | b'r')
        }
        Some(b'_') => !prefix.starts_with(|c: char| c.is_ascii_alphabetic()) || prefix.len() > 3,
        Some(b'-') => prefix.len() > 3,
        Some(_) => true,
    }
}

/// `ghp_xxxxxxxxxxxx`, `sk-your-key-goes-here`: nothing in it was made by a machine.
fn is_dull(found: &str, prefix: usize) -> bool {
    let rest = found.get(prefix..).unwrap_or_default();
    let mut seen = [false; 128];
    rest.bytes().for_each(|b| seen[usize::from(b & 127)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    let digits = rest.bytes().any(|b| b.is_ascii_digit());
    let cases = rest.bytes().any(|b| b.is_ascii_lowercase())
        && rest.bytes().any(|b| b.is_ascii_uppercase());
    distinct < 5 || !digits && !cases && rest.len() < 40
}

/// A full stop or dash at the end belongs to the sentence.
fn trimmed(bytes: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && matches!(bytes[end - 1], b'.' | b'-') {
        end -= 1;
    }
    end
}

/// `Bearer …`: only the credential goes.
fn header(text: &str, start: usize, end: usize, spans: &mut Spans) {
    let found = &text[start..end];
    let blank = found.find(' ').unwrap_or(0);
    let credential = found[blank..].trim_start();
    let from = end - credential.len();
    let end = trimmed(text.as_bytes(), from, end);
    let dull = is_dull(&text[from..end], 0) || super::value::is_wordy(&text[from..end]);
    if !dull && !spans.covers(from, end) {
        spans.add(from, end, "api_key".into());
    }
}

/// `123456789:AA…`.
fn telegram(bytes: &[u8], start: usize, end: usize, spans: &mut Spans) {
    let mut from = start;
    while from > 0 && bytes[from - 1].is_ascii_digit() {
        from -= 1;
    }
    if (8..=11).contains(&(start - from)) {
        spans.add(from, end, "api_key".into());
    }
}

/// Thirty-two hex digits and a data centre.
fn mailchimp(bytes: &[u8], start: usize, end: usize, spans: &mut Spans) {
    let from = start.saturating_sub(32);
    let hex = bytes[from..start]
        .iter()
        .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let whole = from == 0 || !bytes[from - 1].is_ascii_alphanumeric();
    if start - from == 32 && hex && whole {
        spans.add(from, end, "api_key".into());
    }
}

fn run_before(bytes: &[u8], start: usize, most: usize) -> usize {
    let mut from = start;
    while from > 0 && start - from < most && bytes[from - 1].is_ascii_alphanumeric() {
        from -= 1;
    }
    from
}

/// The secret half that stands near an AWS key id: forty digits of base64.
fn partner(text: &str, from: usize, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let limit = (from + 240).min(bytes.len());
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let mut at = from;
    while at < limit {
        if !is_digit(bytes[at]) {
            at += 1;
            continue;
        }
        let run = bytes[at..]
            .iter()
            .take(64)
            .take_while(|b| is_digit(**b))
            .count();
        let piece = &text[at..at + run];
        let hex = piece.bytes().all(|b| b.is_ascii_hexdigit());
        if run == 40 && !hex && !is_dull(piece, 0) {
            spans.add(at, at + run, "api_key".into());
            return;
        }
        at += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_begins_as_it_says() {
        for ((prefix, pattern), compiled) in RULES.iter().zip(PATTERNS.iter()) {
            assert!(compiled.is_some(), "{prefix}: {pattern}");
        }
    }
}
