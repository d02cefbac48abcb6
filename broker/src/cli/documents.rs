//! Reference pages that the binary prints about itself, so that they cannot disagree with it.

use contract::{
    limits,
    routes::{Access, ROUTES},
};
use std::fmt::Write as _;

/// docs/configuration.md
pub(super) fn configuration() -> String {
    crate::config::reference()
}

/// docs/limits.md
pub(super) fn limits() -> String {
    let mut page = String::from(
        "# Limits\n\nPrinted by `collie-broker print-limits`.\n\n| limit | value | meaning |\n|---|---|---|\n",
    );
    for (name, value, about) in limits::ALL {
        let _ = writeln!(page, "| `{name}` | {value} | {} |", about.trim());
    }
    page
}

/// docs/routes.md
pub(super) fn routes() -> String {
    let mut page = String::from(
        "# Routes\n\nPrinted by `collie-broker print-routes`. `device` wants a session and the device's signature; `refresh` a refresh token and the signature; \
         `browser` a signed-in browser; `owner link` the link itself; `public` nothing. Everything but `device` is limited by network, `device` by device.\n\n\
         | method | path | who | body, bytes at most | for |\n|---|---|---|---|---|\n",
    );
    for route in ROUTES {
        let (method, path, about) = (route.method.as_str(), route.path, route.about);
        let _ = writeln!(page, "| {method} | `{path}` | {} | {} | {about} |", who(route.access), route.body_max);
    }
    page
}

const fn who(access: Access) -> &'static str {
    match access {
        Access::Public => "public",
        Access::Refresh => "refresh",
        Access::Device => "device",
        Access::OwnerLink => "owner link",
        Access::Browser => "browser",
    }
}
