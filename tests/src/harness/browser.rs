//! A person's browser: a cookie, forms of the pages it was shown, and the headers a browser adds. Runs no scripts, because no page has any.

use super::raw::{self, RawAnswer};

/// A browser at one origin.
#[derive(Debug, Clone)]
pub struct Browser {
    origin: String,
    cookie: Option<String>,
}

impl Browser {
    /// A browser that was never here.
    #[must_use]
    pub fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), cookie: None }
    }

    /// A browser that has this session.
    #[must_use]
    pub fn with_cookie(origin: &str, value: &str) -> Self {
        Self { origin: origin.to_owned(), cookie: Some(format!("collie={value}")) }
    }

    /// Opens the link, reads the question, and presses its button.
    pub async fn follow_owner_link(&mut self, path: &str) {
        let asked = self.get(path).await;
        assert_eq!(asked.status, 200, "{}", asked.text());
        let answer = self.post(path, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a session begins");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "a guarded cookie");
        self.cookie = cookie.split(';').next().map(str::to_owned);
    }

    /// Types a code on `/pair`, looks at the device and binds it. Returns the page that showed it.
    pub async fn approve(&self, user_code: &str) -> String {
        let asked = self.get("/pair").await;
        let form_token = hidden(&asked.text(), "form_token");
        let shown = self.post("/pair", &[("form_token", &form_token), ("user_code", user_code)]).await;
        assert_eq!(shown.status, 200, "{}", shown.text());
        let page = shown.text();
        let fields = [
            ("form_token", hidden(&page, "form_token")),
            ("user_code", hidden(&page, "user_code")),
            ("fingerprint", hidden(&page, "fingerprint")),
        ];
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let bound = self.post("/pair/approve", &fields).await;
        assert_eq!(bound.status, 200, "{}", bound.text());
        page
    }

    /// GET.
    pub async fn get(&self, path: &str) -> RawAnswer {
        let head = self.head("GET", path);
        raw::send(self.authority(), format!("{head}\r\n").as_bytes()).await
    }

    /// POST of a form, from a page of this origin.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let body =
            fields.iter().map(|(name, value)| format!("{name}={}", form_encode(value))).collect::<Vec<_>>().join("&");
        let head = self.head("POST", path);
        let request = format!(
            "{head}Origin: {}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            self.origin,
            body.len()
        );
        raw::send(self.authority(), request.as_bytes()).await
    }

    fn authority(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    fn head(&self, method: &str, path: &str) -> String {
        let cookie = self.cookie.as_ref().map_or_else(String::new, |cookie| format!("Cookie: {cookie}\r\n"));
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{cookie}", self.authority())
    }
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.split(&start).nth(1).unwrap_or_else(|| panic!("no field `{name}` in {page}"));
    rest.split('"').next().expect("closed").to_owned()
}

fn form_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}
