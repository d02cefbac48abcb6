//! What each page says. Binding a device is explained where it is decided; a code is never filled in for anybody.

use super::Markup;
use contract::{
    device::{DeviceRow, PendingDevice, SessionClass},
    limits,
};

/// The hidden field that proves the form was made for this session.
fn form_token(token: &str) -> Markup {
    Markup::new().raw("<input type=\"hidden\" name=\"form_token\" value=\"").text(token).raw("\">")
}

/// GET /owner/{token}. The form has no address of its own, so it goes back to the link's.
pub(crate) fn owner_ask() -> String {
    Markup::new()
        .raw("<p>This link signs this browser in as the owner of this service. It works once.</p>")
        .raw("<p class=\"warn\">Continue only if you made the link yourself, at the service's own terminal.</p>")
        .raw("<form method=\"post\"><button>Sign this browser in</button></form>")
        .page("Sign in")
}

/// After the owner link was used.
pub(crate) fn signed_in() -> String {
    let hours = (limits::BROWSER_SESSION_TTL_S / 3600).to_string();
    Markup::new()
        .raw("<p>This browser is signed in for ")
        .text(&hours)
        .raw(" hours.</p><p><a href=\"/pair\">Pair a device</a></p><p><a href=\"/\">Your devices</a></p>")
        .page("Signed in")
}

/// After signing out.
pub(crate) fn signed_out() -> String {
    Markup::new().raw("<p>This browser is signed out. Paired devices stay paired.</p>").page("Signed out")
}

/// One sentence, for refusals and for those who are not signed in.
pub(crate) fn message(title: &'static str, sentence: &str) -> String {
    let mut letters = sentence.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    Markup::new().raw("<p>").text(&capital).text(letters.as_str()).raw(".</p>").page(title)
}

/// GET /pair. The field is always empty: a code that somebody else typed must not be one click away.
pub(crate) fn pair_ask(token: &str) -> String {
    Markup::new()
        .raw("<p>Type the code that the new device shows.</p><form method=\"post\" action=\"/pair\">")
        .add(&form_token(token))
        .raw("<label for=\"user_code\">Code</label>")
        .raw("<input id=\"user_code\" name=\"user_code\" inputmode=\"text\" autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" maxlength=\"16\" required autofocus>")
        .raw("<button>Show the device</button></form>")
        .raw("<p class=\"warn\">Type only a code you see on a device in your own hands. Nobody who works on this service will ever send you one.</p>")
        .page("Pair a device")
}

/// POST /pair: the facts, and what binding means.
pub(crate) fn pair_confirm(token: &str, user_code: &str, pending: &PendingDevice) -> String {
    let fields = form_token(token)
        .raw("<input type=\"hidden\" name=\"user_code\" value=\"")
        .text(user_code)
        .raw("\"><input type=\"hidden\" name=\"fingerprint\" value=\"")
        .text(&pending.fingerprint)
        .raw("\">");
    let sessions = match pending.session_class {
        SessionClass::Rotating => "short tokens that rotate (10 minutes)",
        SessionClass::Sliding => "long-lived: stays signed in for 30 days after each use",
    };
    Markup::new()
        .raw("<dl><dt>The device calls itself</dt><dd>")
        .text(&pending.device_name)
        .raw("</dd><dt>Fingerprint of its key: compare it with the device's screen</dt><dd class=\"code\">")
        .text(&pending.fingerprint)
        .raw("</dd><dt>Its sessions</dt><dd>")
        .text(sessions)
        .raw("</dd><dt>It speaks to</dt><dd>")
        .text(&pending.origin)
        .raw("</dd></dl>")
        .raw("<p>Binding lets this device act as you on this service until you revoke it: see your connections, fetch their sealed credentials, review, pair further devices.</p>")
        .raw("<p>Binding does not give it your sealing key, so it opens no credential until you bring that key to it yourself. ")
        .raw("It does not prove who holds the device either: name and origin are what it says about itself, and only the fingerprint is its own.</p>")
        .raw("<p class=\"warn\">If somebody sent you this code, refuse.</p>")
        .raw("<form method=\"post\" action=\"/pair/approve\">")
        .add(&fields)
        .raw("<button>Bind this device</button></form><form method=\"post\" action=\"/pair/refuse\">")
        .add(&fields)
        .raw("<button>Refuse</button></form>")
        .page("Is this your device?")
}

/// What was decided about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionMade {
    /// It is bound.
    Bound,
    /// It is not.
    Refused,
}

/// After the decision.
pub(crate) fn pair_done(decision: DecisionMade, device: &PendingDevice) -> String {
    let (title, end) = match decision {
        DecisionMade::Bound => ("Device bound", " is bound. It fetches its tokens by itself.</p>"),
        DecisionMade::Refused => ("Device refused", " was refused. Nothing was bound.</p>"),
    };
    let name =
        Markup::new().raw("<p>").text(&device.device_name).raw(" (<code>").text(&device.fingerprint).raw("</code>)");
    name.raw(end)
        .raw("<p><a href=\"/pair\">Pair another device</a></p><p><a href=\"/\">Your devices</a></p>")
        .page(title)
}

/// GET /
pub(crate) fn devices(token: &str, devices: &[DeviceRow], now_s: u64) -> String {
    let mut list = Markup::new();
    for device in devices {
        list = list
            .raw("<li><strong>")
            .text(&device.name)
            .raw("</strong><br><code>")
            .text(&device.fingerprint)
            .raw("</code><br><small>")
            .text(&standing(device, now_s))
            .raw("</small></li>");
    }
    let list = if devices.is_empty() { Markup::new().raw("<li>No device is paired yet.</li>") } else { list };
    Markup::new()
        .raw("<p><a href=\"/pair\">Pair a device</a></p><ul>")
        .add(&list)
        .raw("</ul><p><small>A device is revoked from a paired device: <code>collie online device-revoke ID</code>.</small></p>")
        .raw("<form method=\"post\" action=\"/sign-out\">")
        .add(&form_token(token))
        .raw("<button>Sign this browser out</button></form>")
        .page("Your devices")
}

fn standing(device: &DeviceRow, now_s: u64) -> String {
    let id = &device.id;
    match (device.revoked_at, device.last_seen_at) {
        (Some(at), _) => format!("{id} · revoked {}", ago(at, now_s)),
        (None, 0) => format!("{id} · not seen yet · {} sessions", device.session_class),
        (None, at) => format!("{id} · seen {} · {} sessions", ago(at, now_s), device.session_class),
    }
}

fn ago(then_s: u64, now_s: u64) -> String {
    let seconds = now_s.saturating_sub(then_s);
    match seconds {
        0..120 => String::from("just now"),
        120..7200 => format!("{} minutes ago", seconds / 60),
        7200..172_800 => format!("{} hours ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending() -> PendingDevice {
        PendingDevice {
            device_name: "<b>laptop</b>".to_owned(),
            fingerprint: "0123-4567-89ab-cdef".to_owned(),
            session_class: SessionClass::Sliding,
            origin: "https://collie.test".to_owned(),
            started_at: 0,
        }
    }

    #[test]
    fn the_code_is_never_filled_in() {
        let page = pair_ask("t");
        let field =
            page.split("<input id=\"user_code\"").nth(1).and_then(|rest| rest.split('>').next()).expect("the field");
        assert!(!field.contains("value"));
    }

    #[test]
    fn the_decision_shows_every_fact_and_escapes_the_name() {
        let page = pair_confirm("t", "ABCD-EFGH", &pending());
        for fact in [
            "&lt;b&gt;laptop&lt;/b&gt;",
            "0123-4567-89ab-cdef",
            "long-lived",
            "https://collie.test",
            "does not prove who holds the device",
        ] {
            assert!(page.contains(fact), "{fact}");
        }
        assert!(!page.contains("<b>"));
    }
}
