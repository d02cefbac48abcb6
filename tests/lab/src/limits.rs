//! The lab's own maxima, so that a hostile server stays a bounded program. Never a limit of the product.

/// Largest request body the lab reads, in bytes.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// Most requests remembered by the inspection endpoint; older ones are forgotten first.
pub const SEEN_MAX: usize = 512;
/// Most requests remembered that arrived where a redirect pointed.
pub const STRAYS_MAX: usize = 128;
/// Most notes kept, and most messages kept as sent.
pub const NOTES_MAX: usize = 256;
/// Most 2025-11-25 sessions open at once.
pub const SESSIONS_MAX: usize = 256;
/// Most request states handed out and not yet redeemed.
pub const REQUEST_STATES_MAX: usize = 256;
/// Most fault rules armed at once.
pub const FAULTS_MAX: usize = 64;
/// Largest filling of a `huge` answer, in bytes.
pub const HUGE_BYTES_MAX: u64 = 1 << 30;
/// Deepest nesting of a `deep` answer.
pub const DEPTH_MAX: usize = 1_000_000;
/// Longest pause between two pieces of a `trickle` answer, in milliseconds.
pub const TRICKLE_MS_MAX: u64 = 60_000;
/// Frames waiting between a script and the connection.
pub const FRAMES_WAITING_MAX: usize = 4;
/// Most clients, codes, tokens, pages and assertions one authorization server remembers; then it is busy.
pub const OAUTH_ENTRIES_MAX: usize = 65_536;
/// Largest document that describes a client, with its head, in bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 64 * 1024;
/// Furthest the clock of tokens can be put ahead, in seconds.
pub const AHEAD_S_MAX: u64 = 10 * 365 * 86_400;
/// Longest path and query remembered of a stray, in characters.
pub const STRAY_TARGET_CHARS_MAX: usize = 2_000;
