//! A person's browser, as far as the service's pages need one: a cookie, forms, buttons. Runs no script; the pages have none.

use crate::plain_http::{Answer, Request, origin};
use crate::trouble::Trouble;
use std::collections::BTreeMap;

/// Redirects that are followed one after another.
const REDIRECTS_MAX: usize = 5;

/// A browser with its cookies.
#[derive(Debug, Default)]
pub struct Browser {
    cookies: BTreeMap<String, String>,
    /// Every page and answer it was shown, for those who search them.
    history: Vec<Answer>,
}

/// A page that was shown.
#[derive(Debug, Clone)]
pub struct Page {
    url: String,
    /// Status.
    pub status: u16,
    html: String,
}

/// A form of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    action: String,
    fields: Vec<(String, String)>,
}

impl Browser {
    /// Opens an address, as a person does who follows a link.
    pub fn open(&mut self, url: &str) -> Result<Page, Trouble> {
        self.go(Request::get(url), url)
    }

    /// Sends the page's form whose action ends in `action`, with these fields filled in.
    pub fn submit(&mut self, page: &Page, action: &str, filled: &[(&str, &str)]) -> Result<Page, Trouble> {
        let form = page.form(action).ok_or_else(|| {
            Trouble::new(
                format!("the page has no form for `{action}` (status {}): {}", page.status, page.text()),
                "look at the page",
            )
        })?;
        let mut fields = form.fields;
        for (name, value) in filled {
            fields.retain(|(field, _)| field != name);
            fields.push(((*name).to_owned(), (*value).to_owned()));
        }
        let body = fields
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect::<Vec<_>>()
            .join("&");
        let url = resolve(&page.url, &form.action);
        let request = Request::post(&url)
            .body("application/x-www-form-urlencoded", body.into_bytes())
            .header("Origin", &origin(&page.url))
            .header("Referer", &format!("{}/", origin(&page.url)))
            .header("Sec-Fetch-Site", "same-origin")
            .header("Sec-Fetch-Mode", "navigate");
        self.go(request, &url)
    }

    /// Everything it was shown.
    #[must_use]
    pub fn history(&self) -> &[Answer] {
        &self.history
    }

    /// The values of its cookies.
    pub fn cookie_values(&self) -> impl Iterator<Item = &str> {
        self.cookies.values().map(String::as_str)
    }

    fn go(&mut self, request: Request, url: &str) -> Result<Page, Trouble> {
        let (mut request, mut url) = (request, url.to_owned());
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.exchange(request)?;
            let location = answer.header("location").filter(|_| (300..400).contains(&answer.status)).map(str::to_owned);
            let Some(location) = location else {
                return Ok(Page { url, status: answer.status, html: answer.text() });
            };
            url = resolve(&url, &location);
            request = Request::get(&url);
        }
        Err(Trouble::new("the pages redirect in a circle", "look at the service's log"))
    }

    fn exchange(&mut self, request: Request) -> Result<Answer, Trouble> {
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        let request = request.header("Accept", "text/html");
        let request = if cookies.is_empty() { request } else { request.header("Cookie", &cookies) };
        let answer = request.send()?;
        for (_, value) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            if let Some((name, value)) = value.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        self.history.push(answer.clone());
        Ok(answer)
    }
}

impl Page {
    /// What a person reads: the page without its markup.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = without_elements(&self.html, &["style", "script", "head"]);
        while let Some(at) = rest.find('<') {
            let (before, tag) = rest.split_at(at);
            text.push_str(before);
            text.push(' ');
            rest = tag.split_once('>').map_or_else(String::new, |(_, after)| after.to_owned());
        }
        text.push_str(&rest);
        unescape(&text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The form whose action ends in `action`.
    #[must_use]
    pub fn form(&self, action: &str) -> Option<Form> {
        self.forms().into_iter().find(|form| form.action.split('?').next().is_some_and(|path| path.ends_with(action)))
    }

    fn forms(&self) -> Vec<Form> {
        let forms = self.html.split("<form").skip(1);
        forms
            .map(|piece| {
                let (tag, inside) = piece.split_once('>').unwrap_or((piece, ""));
                let inside = inside.split("</form").next().unwrap_or_default();
                // A form without an action goes to its own page.
                let action = attribute(tag, "action").unwrap_or_else(|| self.url.clone());
                Form { action, fields: fields(inside) }
            })
            .collect()
    }
}

fn fields(inside: &str) -> Vec<(String, String)> {
    let inputs = inside.split("<input").skip(1).filter_map(|piece| piece.split_once('>')).map(|(tag, _)| tag);
    inputs.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()))).collect()
}

/// The value of an attribute in a tag that our own pages wrote: `name="value"`.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = format!(" {name}=\"");
    let spaced = format!(" {}", tag.trim());
    let (_, after) = spaced.split_once(&start)?;
    after.split_once('"').map(|(value, _)| unescape(value))
}

fn without_elements(html: &str, names: &[&str]) -> String {
    let mut text = html.to_owned();
    for name in names {
        while let Some((before, after)) = text.split_once(&format!("<{name}")) {
            let rest = after.split_once(&format!("</{name}>")).map_or("", |(_, rest)| rest);
            text = format!("{before}{rest}");
        }
    }
    text
}

fn unescape(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn resolve(base: &str, target: &str) -> String {
    match target {
        _ if target.starts_with("http://") => target.to_owned(),
        _ if target.starts_with('/') => format!("{}{target}", origin(base)),
        _ => format!("{}/{target}", base.rsplit_once('/').map_or(base, |(folder, _)| folder)),
    }
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_text_are_read() {
        let page = Page {
            url: "http://127.0.0.1:1/pair".to_owned(),
            status: 200,
            html: "<html><head><title>x</title></head><p>Is it &lt;this&gt;?</p><form method=\"post\" action=\"/pair/approve\">\
                   <input type=\"hidden\" name=\"form_token\" value=\"a&amp;b\"><input name=\"code\"><button>Yes</button></form>"
                .to_owned(),
        };
        let form = page.form("/approve").expect("the form");
        let fields = vec![("form_token".to_owned(), "a&b".to_owned()), ("code".to_owned(), String::new())];
        assert_eq!(form, Form { action: "/pair/approve".to_owned(), fields });
        assert_eq!(page.text(), "Is it <this>? Yes");
        assert!(page.form("/refuse").is_none());
    }

    #[test]
    fn addresses_resolve_on_the_same_origin() {
        assert_eq!(resolve("http://h:1/a/b?x", "/c"), "http://h:1/c");
        assert_eq!(resolve("http://h:1/a/b", "c"), "http://h:1/a/c");
        assert_eq!(resolve("http://h:1/a", "http://i:2/"), "http://i:2/");
    }
}
