use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: &str) {
    let names = Names::from([("U1".to_owned(), "ana <3".to_owned())]);
    assert_eq!(render(text, &names).into_string(), expected, "{text}");
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
        let html = render(probe, &Names::new()).into_string();
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
        let html = render(&text, &Names::new()).into_string();
        prop_assert!(only_our_tags(&html), "{text:?} -> {html}");
    }
}
