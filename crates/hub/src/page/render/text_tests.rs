use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: &str) {
    let names = Names::new([("U1".to_owned(), "ana <3".to_owned())].into(), 7878);
    assert_eq!(render(text, &names).into_string(), expected, "{text}");
}

/// A session is good under one name: a link to this hub must not leave it.
#[test]
fn links_to_this_hub_stay_under_the_name_that_the_reader_is_in_under() {
    let href = |target: &str| {
        let names = Names::new([].into(), 7878);
        let html = render(&format!("<{target}|see>"), &names).into_string();
        let rest = html.split("href=\"").nth(1).unwrap().to_owned();
        rest.split('"').next().unwrap().to_owned()
    };
    let inside = "/archives/C1/p1700000000000001?thread_ts=1700000000.000001";
    for host in [
        "127.0.0.1:7878",
        "localhost:7878",
        "[::1]:7878",
        "codebutler-abc.localhost:7878",
    ] {
        assert_eq!(href(&format!("http://{host}{inside}")), inside);
    }
    for other in [
        "http://127.0.0.1:7879/archives/C1/p1",
        "http://127.0.0.1/archives/C1/p1",
        "https://127.0.0.1:7878/archives/C1/p1",
        "http://example.com:7878/archives/C1/p1",
        "http://127.0.0.1.example.com:7878/c/C1",
    ] {
        assert_eq!(href(other), other);
    }
    // The bare address too, and what a path could be taken for stays a path of ours.
    let names = Names::new([].into(), 7878);
    let html = render("see http://127.0.0.1:7878//evil.example/", &names).into_string();
    assert!(
        html.contains("href=\"http://127.0.0.1:7878//evil.example/\""),
        "{html}"
    );
}

#[test]
fn marks_links_and_mentions_are_rendered() {
    check(
        "hi *you* _there_ ~no~",
        "<p>hi <strong>you</strong> <em>there</em> <s>no</s></p>",
    );
    check("a\nb\n\nc", "<p>a<br>b</p><p>c</p>");
    check("`x &lt; y`", "<p><code>x &lt; y</code></p>");
    check(
        "```\na\n  b\n```",
        "<pre tabindex=\"0\"><code>a\n  b\n</code></pre>",
    );
    check(
        "```sh\necho 1\n```",
        "<pre tabindex=\"0\"><code><span class=\"k\">echo</span> <span class=\"n\">1</span>\n</code></pre>",
    );
    check(
        "&gt; quoted\nnot",
        "<blockquote>quoted</blockquote><p>not</p>",
    );
    check("<@U1>", "<p><span class=\"mention\">@ana &lt;3</span></p>");
    check(
        "<https://x.y/?a=1&amp;b|see>",
        "<p><a href=\"https://x.y/?a=1&amp;b\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">see</a></p>",
    );
    check(
        "@codebutler.coder, go; a@codebutler.coder @codebutler.cook",
        "<p><span class=\"mention\">@Coder</span>, go; a@codebutler.coder @codebutler.cook</p>",
    );
    check("2*3*4 snake_case_name", "<p>2*3*4 snake_case_name</p>");
    check(
        "&lt;https://x.y&gt;",
        "<p>&lt;<a href=\"https://x.y\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">https://x.y</a>&gt;</p>",
    );
    check(
        "at https://x.y.",
        "<p>at <a href=\"https://x.y\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">https://x.y</a>.</p>",
    );
}

#[test]
fn nothing_from_outside_becomes_markup() {
    for probe in [
        "<script>alert(1)</script>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<javascript:alert(1)|x>",
        "<@U1\" onclick=\"x>",
        "<https://x\" onmouseover=\"alert(1)|y>",
        "```</code></pre><script>x</script>```",
        "`<img src=x onerror=alert(1)>`",
        "*<img src=x onerror=alert(1)>*",
    ] {
        let html = render(probe, &Names::default()).into_string();
        assert!(
            !html.contains("<script") && !html.contains("<img"),
            "{html}"
        );
        assert!(!html.contains("href=\"javascript"), "{html}");
        assert!(!html.contains("\" on"), "{html}");
    }
}

/// Only these tags may ever appear.
fn only_our_tags(html: &str) -> bool {
    html.match_indices('<').all(|(at, _)| {
        let tag = html[at + 1..].trim_start_matches('/');
        [
            "p>",
            "br>",
            "pre>",
            "pre tabindex=\"0\">",
            "code>",
            "strong>",
            "em>",
            "s>",
            "blockquote>",
            "span",
            "a href",
            "a>",
        ]
        .iter()
        .any(|ours| tag.starts_with(ours))
    })
}

proptest! {
    #[test]
    fn any_text_gives_only_our_tags(text in "[<>&|@#!*_~`'\" \\na-z/:.;-]{0,80}|.{0,60}") {
        let html = render(&text, &Names::default()).into_string();
        prop_assert!(only_our_tags(&html), "{text:?} -> {html}");
    }
}
