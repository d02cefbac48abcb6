//! The scopes there are, and which one a tool needs. Never knows a token.

/// Lists and reads notes.
pub const READ: &str = "notes:read";
/// Writes and sends notes.
pub const WRITE: &str = "notes:write";
/// Deletes everything.
pub const ADMIN: &str = "notes:admin";
/// Asks for a refresh token.
pub const OFFLINE: &str = "offline_access";

/// Every scope that lets a caller do something.
pub(crate) const WORKING: [&str; 3] = [READ, WRITE, ADMIN];

/// The scope that a request needs.
pub(crate) fn needed(tool: Option<&str>) -> &'static str {
    match tool {
        Some("save_note" | "save_noto" | "send_note") => WRITE,
        Some("delete_everything") => ADMIN,
        _ => READ,
    }
}
