//! What the lab does until told otherwise: eras, manifest, paging, answer form. Never a one-shot fault, those are in `fault`.

use crate::oauth::OAuthSwitches;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The lab's lasting behaviour. Every field may be changed while the lab runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// Which protocol eras are spoken.
    pub era: Eras,
    /// Changes of the manifest; each alone must change its digest.
    pub changes: BTreeSet<ManifestChange>,
    /// Other ways to write the same manifest; none may change its digest.
    pub arrange: BTreeSet<Arrangement>,
    /// Whether a tool's name is listed twice, and where.
    pub duplicates: Duplicates,
    /// How the list of tools ends, if it does.
    pub pages: Pages,
    /// Tools on one page, at least 1.
    pub page_size: usize,
    /// Lists the tools with unknown fields, huge numbers, icons and mirrored parameters.
    pub odd_tools: bool,
    /// Puts zero-width, bidi and tag characters into the description of `save_note`.
    pub hidden_characters: bool,
    /// Whether answers are plain JSON or an event stream.
    pub answer: AnswerForm,
    /// Event streams carry comments, `retry:`, `id:`, unknown events, CR LF and data over many lines.
    pub sse_noise: bool,
    /// Sends the caller's own credential back to it.
    pub echo: Option<Echo>,
    /// `ttlMs` of cacheable results (2026-07-28), in milliseconds.
    pub ttl_ms: u64,
    /// `cacheScope` of cacheable results (2026-07-28).
    pub cache_scope: CacheScope,
    /// The authorization servers.
    pub oauth: OAuthSwitches,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            era: Eras::Both,
            changes: BTreeSet::new(),
            arrange: BTreeSet::new(),
            duplicates: Duplicates::None,
            pages: Pages::Finite,
            page_size: 4,
            odd_tools: true,
            hidden_characters: false,
            answer: AnswerForm::Json,
            sse_noise: false,
            echo: None,
            ttl_ms: 300_000,
            cache_scope: CacheScope::Private,
            oauth: OAuthSwitches::default(),
        }
    }
}

/// Which protocol eras a lab speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eras {
    /// 2025-11-25 and 2026-07-28 on one address.
    Both,
    /// 2025-11-25 only; answers a modern request with a plain 400.
    Legacy,
    /// 2026-07-28 only.
    Modern,
}

/// One change of what a server controls and a model or person sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManifestChange {
    /// `save_note` is called `save_noto`.
    Name,
    /// One byte of the description of `list_notes`.
    Description,
    /// One byte in the input schema of `send_note`.
    InputSchema,
    /// One byte in the output schema of `list_notes`.
    OutputSchema,
    /// `delete_everything` claims to be read-only.
    Annotations,
    /// One byte of the title of `read_note`.
    Title,
    /// One byte of an icon's address of `read_note`.
    Icons,
    /// One byte in `_meta` of `read_note`.
    Meta,
    /// One byte in a field of `read_note` that no specification names.
    UnknownField,
    /// The last digit of a long number in the input schema of `list_notes`.
    Number,
    /// A tool more.
    NewTool,
    /// A tool less.
    RemovedTool,
    /// One byte of the instructions.
    Instructions,
}

impl ManifestChange {
    /// Every change there is.
    pub const ALL: [ManifestChange; 13] = [
        ManifestChange::Name,
        ManifestChange::Description,
        ManifestChange::InputSchema,
        ManifestChange::OutputSchema,
        ManifestChange::Annotations,
        ManifestChange::Title,
        ManifestChange::Icons,
        ManifestChange::Meta,
        ManifestChange::UnknownField,
        ManifestChange::Number,
        ManifestChange::NewTool,
        ManifestChange::RemovedTool,
        ManifestChange::Instructions,
    ];
}

/// Another way to write the same manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// Members of every object in reverse order.
    Keys,
    /// Tools, and with them pages, in reverse order.
    Tools,
    /// Pages of one tool each.
    Pages,
    /// Blanks and line breaks between tokens.
    Whitespace,
    /// Every letter as a `\uXXXX` escape.
    Escapes,
}

impl Arrangement {
    /// Every arrangement there is.
    pub const ALL: [Arrangement; 5] =
        [Arrangement::Keys, Arrangement::Tools, Arrangement::Pages, Arrangement::Whitespace, Arrangement::Escapes];
}

/// Whether `list_notes` is listed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// Every name once.
    None,
    /// Twice in a row, word for word.
    Same,
    /// First on the first page, and with another description as the last tool of the last page.
    AcrossPages,
}

/// How the list of tools ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// The last page has no cursor.
    Finite,
    /// Each page has a new tool and a new cursor, for ever.
    Endless,
    /// After the last page come empty pages with new cursors, for ever.
    EndlessEmpty,
    /// The last page points back to the first.
    Looping,
}

/// Media type of a successful answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    Sse,
}

/// `cacheScope` of cacheable results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheScope {
    /// For this caller only.
    Private,
    /// For anyone; a hostile claim on an authenticated endpoint.
    Public,
}

/// Where and in which form the caller's credential comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// The part of the answer that holds it.
    pub place: EchoPlace,
    /// How it is written there.
    #[serde(default)]
    pub form: EchoForm,
}

/// The part of an answer that holds an echoed credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoPlace {
    /// Text content of a tool's result.
    Result,
    /// A member name in a tool's `structuredContent`.
    Key,
    /// Message and data of a JSON-RPC error, after the tool ran.
    Error,
    /// An HTTP 403 with the credential in its body and its challenge.
    Refusal,
    /// A response header.
    Header,
    /// A notification on the event stream before the result.
    Event,
    /// The instructions and a tool's description.
    Manifest,
}

/// How an echoed credential is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoForm {
    /// As it came.
    #[default]
    Raw,
    /// Standard base64 with padding.
    Base64,
    /// URL-safe base64 without padding.
    Base64Url,
    /// Lower-case hexadecimal.
    Hex,
    /// Every byte as `%XX`.
    UrlEncoded,
    /// Every letter as a JSON `\uXXXX` escape; outside JSON the same as `raw`.
    JsonEscaped,
    /// One half in each of two events; only for place `event`, elsewhere the same as `raw`.
    SplitEvents,
    /// As it came, but the connection's frame ends in its middle.
    SplitFrames,
}
