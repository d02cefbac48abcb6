//! HTML that cannot be broken out of: markup is literal text of this program, and everything else is escaped on its way in.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use contract::{Digest, text};
use http::HeaderValue;
use std::sync::LazyLock;

/// A piece of HTML.
#[derive(Debug, Default, Clone)]
pub(crate) struct Markup(String);

impl Markup {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds markup, which is literal text of this program.
    pub(crate) fn raw(mut self, markup: &'static str) -> Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text of anybody, escaped for elements and for quoted attributes; hidden characters become visible.
    pub(crate) fn text(mut self, foreign: &str) -> Self {
        for c in text::visible(foreign).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                plain => self.0.push(plain),
            }
        }
        self
    }

    /// Adds another piece.
    pub(crate) fn add(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// A whole page for a telephone's width.
    pub(crate) fn page(self, title: &'static str) -> String {
        let head = Self::new()
            .raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\"><title>")
            .raw(title)
            .raw(" · Collie Online</title><style>")
            .raw(STYLE)
            .raw("</style></head><body><main><h1>")
            .raw(title)
            .raw("</h1>");
        head.add(&self).raw("</main></body></html>").0
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:1rem}\
main{max-width:34rem;margin:0 auto}\
h1{font-size:1.4rem;line-height:1.2}\
dl{margin:1rem 0;display:grid;gap:.75rem}dt{font-size:.85rem;opacity:.75}dd{margin:0;overflow-wrap:anywhere}\
code,.code{font:1.15rem ui-monospace,monospace;overflow-wrap:anywhere}\
ul{list-style:none;padding:0}li{padding:.75rem 0;border-top:1px solid color-mix(in srgb,currentColor 25%,transparent)}\
input{font:1.4rem ui-monospace,monospace;letter-spacing:.1em;text-transform:uppercase;width:100%;box-sizing:border-box;padding:.6rem}\
button{font:inherit;font-weight:600;width:100%;min-height:3rem;margin:.5rem 0;cursor:pointer}\
label{display:block;margin:1rem 0 .25rem}\
.warn{border-left:.25rem solid #c60;padding:.25rem .75rem}\
small{opacity:.8}";

/// The policy of every page: no scripts, nothing from elsewhere, no frames, forms to this origin alone.
pub(crate) fn policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
        let style = STANDARD.encode(Digest::of(&[STYLE.as_bytes()]).as_bytes());
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; sandbox allow-forms allow-same-origin"
        );
        HeaderValue::from_str(&policy).expect("base64 and the literal text are visible ASCII")
    });
    POLICY.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        let hostile = "\"><script>alert(1)</script>' onx='\u{202e}\0";
        let page = Markup::new().raw("<p title=\"").text(hostile).raw("\">").text(hostile).raw("</p>").page("Devices");
        assert!(!page.contains("<script"));
        assert!(!page.contains("' onx"));
        assert!(page.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39; onx=&#39;\\u{202e}\\u{0}"));
    }

    #[test]
    fn the_policy_allows_this_style_and_no_script() {
        let policy = policy();
        let policy = policy.to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
        assert!(!policy.contains("script") && !policy.contains("unsafe"));
        let page = Markup::new().page("Devices");
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("one style");
        assert!(policy.contains(&STANDARD.encode(Digest::of(&[style.as_bytes()]).as_bytes())));
        assert!(!page.contains(" src=") && !page.contains(" style=") && !page.contains("http"));
    }
}
