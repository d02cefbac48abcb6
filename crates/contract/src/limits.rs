//! Every named maximum, window and default of the product, in one place; `collie-broker print-limits` renders it for docs/limits.md.

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: $kind = $value;)+

        /// Name, value and meaning of every limit, in the order of this file.
        pub const ALL: &[(&str, u64, &str)] = &[$((stringify!($name), $value as u64, concat!($($doc),+))),+];
    };
}

limits! {
    /// Levels of nesting in any JSON we read.
    JSON_DEPTH_MAX: usize = 64;
    /// Characters of one number token.
    JSON_NUMBER_CHARS_MAX: usize = 64;
    /// Bytes of one signed body (2.c.2).
    SIGNED_BODY_BYTES_MAX: usize = 64 * 1024;
    /// Levels of nesting in a signed body (2.c.2).
    SIGNED_BODY_DEPTH_MAX: usize = 8;
    /// Largest magnitude of an integer in a signed body, 2^53−1 (2.c.2).
    SIGNED_INTEGER_MAX: u64 = (1_u64 << 53) - 1;

    /// Bytes of one ordinary request body.
    BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Bytes of one sync push body (the public client never splits).
    PUSH_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Bytes of one request body before anybody has proved who they are.
    PUBLIC_BODY_BYTES_MAX: usize = 16 * 1024;
    /// Bytes of one response body that any client of ours reads from the service.
    RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Bytes of a request target (path and query).
    TARGET_BYTES_MAX: usize = 2048;
    /// Request lines and headers, bytes.
    HEADER_BYTES_MAX: usize = 32 * 1024;

    /// Characters of an id.
    ID_CHARS_MAX: usize = 200;
    /// Characters of a name that a person gives to a device.
    DEVICE_NAME_CHARS_MAX: usize = 120;
    /// Characters of a project, workspace or connection name.
    NAME_CHARS_MAX: usize = 200;
    /// Bytes of an endpoint URL.
    ENDPOINT_BYTES_MAX: usize = 2048;

    /// Difference between a device's clock and ours that a request signature may have, seconds (2.e).
    REQUEST_SKEW_S_MAX: u64 = 300;
    /// Nonces remembered for one device during twice the skew window; a full store answers 429 (2.e).
    REQUEST_NONCES_PER_DEVICE_MAX: u64 = 20_000;
    /// Life of an access token of a rotating session, seconds (2.e).
    ACCESS_TOKEN_TTL_S: u64 = 600;
    /// Life of a refresh token of a rotating session, seconds.
    REFRESH_TOKEN_TTL_S: u64 = 30 * 86_400;
    /// Sliding validity of a session of the public client, seconds.
    SLIDING_SESSION_TTL_S: u64 = 30 * 86_400;
    /// Absolute end of any session after enrolment, seconds (2.e).
    SESSION_AGE_S_MAX: u64 = 365 * 86_400;
    /// Session families alive per device; the oldest ends when one more is made.
    SESSIONS_PER_DEVICE_MAX: u64 = 16;
    /// Life of an owner link, seconds (2.e).
    OWNER_LINK_TTL_S: u64 = 15 * 60;
    /// Life of a browser's cookie session, seconds.
    BROWSER_SESSION_TTL_S: u64 = 12 * 3600;

    /// Life of a pairing code, seconds.
    PAIRING_TTL_S: u64 = 600;
    /// Seconds the client waits between two polls of a pairing.
    PAIRING_INTERVAL_S: u64 = 2;
    /// Wrong codes a person may type into one browser session or device within the pairing time.
    PAIRING_TRIES_MAX: u64 = 5;
    /// Pairings that may wait at one time in one deployment.
    PAIRINGS_OPEN_MAX: u64 = 1_000;
    /// Time in which a lost token answer may be fetched again with the same verifier, seconds.
    PAIRING_REPEAT_S: u64 = 120;

    /// Devices of one user that are not revoked.
    DEVICES_PER_USER_MAX: u64 = 100;
    /// Connections of one workspace that are not revoked.
    CONNECTIONS_PER_WORKSPACE_MAX: u64 = 500;
    /// Workspaces that one user may own.
    WORKSPACES_PER_USER_MAX: u64 = 50;
    /// Projects of one workspace.
    PROJECTS_PER_WORKSPACE_MAX: u64 = 500;
    /// Members of one workspace or project.
    MEMBERS_MAX: u64 = 500;

    /// Tools in one manifest.
    MANIFEST_TOOLS_MAX: usize = 512;
    /// Pages of one tools/list.
    MANIFEST_PAGES_MAX: usize = 64;
    /// Canonical bytes of one raw manifest.
    MANIFEST_BYTES_MAX: usize = 2 * 1024 * 1024;
    /// Canonical bytes of the v1 projection of one manifest (all connections of a workspace must fit one list reply).
    MANIFEST_V1_BYTES_MAX: usize = 1024 * 1024;
    /// Bytes of all rows of one person's own connections in a workspace, and again of all its projects' connections: both fit one list answer.
    CONNECTION_ROWS_BYTES_MAX: usize = 1_900_000;
    /// Characters of a tool name.
    TOOL_NAME_CHARS_MAX: usize = 128;
    /// Characters of a tool description in the v1 projection.
    TOOL_DESCRIPTION_V1_CHARS_MAX: usize = 1000;
    /// Bindings of one tool.
    BINDINGS_PER_TOOL_MAX: usize = 64;
    /// Age after which a device reads the live manifest again before an act, seconds.
    MANIFEST_AGE_S_MAX: u64 = 300;

    /// Bytes of the plaintext of one credential.
    CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
    /// Bytes of one typed secret (it travels in one header line).
    CREDENTIAL_SECRET_BYTES_MAX: usize = 16 * 1024;
    /// Characters of the name of a header that carries a secret.
    CREDENTIAL_HEADER_NAME_CHARS_MAX: usize = 100;
    /// Header lines of one credential of the public client.
    CREDENTIAL_HEADERS_MAX: usize = 32;
    /// Bytes of one value of a sealing context (2.a.3).
    CONTEXT_VALUE_BYTES_MAX: usize = 64 * 1024;
    /// Bytes of one CLV2 blob (2.a.2).
    BLOB_BYTES_MAX: usize = 1024 * 1024;
    /// Bytes of one v1 envelope's ciphertext.
    V1_ENVELOPE_BYTES_MAX: usize = 1024 * 1024;
    /// Operations of one sync push.
    PUSH_OPERATIONS_MAX: usize = 500;
    /// Characters of a sync operation's id, exactly.
    OPERATION_ID_CHARS: usize = 32;
    /// Characters of a sync object's id: an id, with what the public client appends to a conflict's sibling.
    OBJECT_ID_CHARS_MAX: usize = 512;
    /// Characters of a sync object's type.
    OBJECT_TYPE_CHARS_MAX: usize = 80;
    /// Events of one sync pull page.
    PULL_EVENTS_MAX: u64 = 500;

    /// Canonical bytes of the arguments of one tool call.
    ARGUMENTS_BYTES_MAX: usize = 1024 * 1024;
    /// Bytes of one answer of an MCP server.
    UPSTREAM_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// Events of one answer stream of an MCP server.
    UPSTREAM_EVENTS_MAX: usize = 10_000;
    /// Bytes of an MCP server's refusal that are looked at.
    UPSTREAM_REFUSAL_BYTES_MAX: usize = 64 * 1024;
    /// Characters of an MCP server's error text that are kept.
    UPSTREAM_MESSAGE_CHARS_MAX: usize = 2000;
    /// Requests of an MCP server's own that are declined in one answer.
    UPSTREAM_REQUESTS_MAX: usize = 8;
    /// Bytes of an MCP session id.
    UPSTREAM_SESSION_ID_BYTES_MAX: usize = 1024;
    /// Bytes of a cursor of tools/list.
    UPSTREAM_CURSOR_BYTES_MAX: usize = 8 * 1024;
    /// Bytes of an argument that is mirrored into a header.
    PARAM_HEADER_BYTES_MAX: usize = 8 * 1024;
    /// Seconds one MCP call may take.
    UPSTREAM_CALL_S_MAX: u64 = 120;
    /// Seconds one connect to a foreign host may take.
    CONNECT_S_MAX: u64 = 10;
    /// Seconds one exchange with the service may take.
    SERVICE_CALL_S_MAX: u64 = 30;
    /// Seconds a peer may be silent in the middle of an answer.
    RESPONSE_IDLE_S_MAX: u64 = 60;
    /// Seconds an unused connection to a peer is kept; shorter than the five after which common servers close theirs.
    POOL_IDLE_S_MAX: u64 = 4;
    /// Unused connections kept for one destination.
    POOL_IDLE_MAX: usize = 4;
    /// Addresses of one host name that are tried.
    RESOLVED_ADDRESSES_MAX: usize = 16;
    /// Header lines of one answer.
    RESPONSE_HEADERS_MAX: usize = 100;
    /// Bytes of an answer that are handed on at one time.
    RESPONSE_CHUNK_BYTES_MAX: usize = 64 * 1024;
    /// Private networks that may be allowed by `--allow-host` at one time.
    ALLOW_HOSTS_MAX: usize = 64;
    /// Life of a one-use grant that a person's own `invoke --yes` mints, seconds.
    ONE_USE_GRANT_TTL_S: u64 = 600;

    /// Bytes of one metadata document or registration answer of an authorization server or resource.
    OAUTH_DOCUMENT_BYTES_MAX: usize = 256 * 1024;
    /// Bytes of one answer of a token, device or revocation endpoint.
    OAUTH_ANSWER_BYTES_MAX: usize = 128 * 1024;
    /// Bytes of one form sent to an authorization server.
    OAUTH_FORM_BYTES_MAX: usize = 64 * 1024;
    /// Seconds one exchange with an authorization server may take.
    OAUTH_CALL_S_MAX: u64 = 30;
    /// Authorization servers that one resource may name.
    OAUTH_SERVERS_MAX: usize = 8;
    /// Items of one list in a metadata document.
    OAUTH_LIST_MAX: usize = 512;
    /// Characters of one item of such a list.
    OAUTH_ITEM_CHARS_MAX: usize = 512;
    /// Scopes of one request or answer.
    OAUTH_SCOPES_MAX: usize = 64;
    /// Bytes of a `WWW-Authenticate` challenge that are looked at.
    OAUTH_CHALLENGE_BYTES_MAX: usize = 8 * 1024;
    /// Bytes of an authorization response's query.
    OAUTH_CALLBACK_BYTES_MAX: usize = 16 * 1024;
    /// Characters of a client id.
    OAUTH_CLIENT_ID_CHARS_MAX: usize = 2048;
    /// Characters of a registration's refusal that are kept.
    OAUTH_MESSAGE_CHARS_MAX: usize = 300;
    /// Longest believed life of an access token, seconds; what is said above it is lowered to it.
    OAUTH_ACCESS_TTL_S_MAX: u64 = 30 * 86_400;
    /// Life of a client assertion, seconds (RFC 7523).
    OAUTH_ASSERTION_TTL_S: u64 = 60;
    /// Time between the start of an authorization and its callback, seconds.
    OAUTH_TRANSACTION_TTL_S: u64 = 600;
    /// Longest life of a device code, seconds (RFC 8628).
    OAUTH_DEVICE_TTL_S_MAX: u64 = 1800;
    /// Seconds between two polls of a device code when the server names none (RFC 8628 3.5).
    OAUTH_DEVICE_INTERVAL_S: u64 = 5;
    /// Longest time between two polls of a device code, seconds.
    OAUTH_DEVICE_INTERVAL_S_MAX: u64 = 60;
    /// An access token that ends within this is not used any more, seconds (2.b.8).
    ACCESS_MARGIN_S: u64 = 60;
    /// Life that an access token must have left to be used without a refresh, seconds (2.b.8).
    REFRESH_LEFT_S_MIN: u64 = 60;
    /// Times one refresh looks at a row that others keep changing (2.b.8).
    REFRESH_ROUNDS_MAX: u32 = 8;

    /// Bytes of an authorization in progress that the vault keeps.
    VAULT_AUTHORIZATION_BYTES_MAX: usize = 64 * 1024;
    /// Bytes of one wrapped key of a KEK provider (2.a.4).
    KEK_BLOB_BYTES_MAX: usize = 4096;
    /// Characters of the full name of a key at its KEK provider, and of its version.
    KEK_NAME_CHARS_MAX: usize = 512;
    /// Keys of KEK providers that one installation may list.
    KEKS_MAX: usize = 16;
    /// Tenant master keys that one process keeps in memory (2.a.8).
    TENANT_KEYS_CACHED_MAX: usize = 1000;
    /// Time that a tenant master key is kept in memory, seconds (2.a.8).
    TENANT_KEY_TTL_S_MAX: u64 = 300;
    /// Uses of a tenant master key before it is unwrapped again (2.a.8).
    TENANT_KEY_USES_MAX: u64 = 1 << 20;
    /// Life of a connection draft and of a credential that waits for its review, seconds.
    CONNECTION_DRAFT_TTL_S_MAX: u64 = 3600;
    /// Connection drafts of one person that stand at one time.
    CONNECTION_DRAFTS_PER_USER_MAX: u64 = 16;
    /// Sign-ins in progress and waiting credentials of one workspace at one time.
    OAUTH_TXNS_PER_WORKSPACE_MAX: u64 = 256;
    /// Time that one process holds the lease on a refresh, seconds (2.b.8).
    REFRESH_LEASE_S_MAX: u64 = 60;
    /// Loans of one connection that run at one time.
    LOANS_PER_CONNECTION_MAX: u64 = 64;
    /// Longest loan, seconds.
    LOAN_TTL_S_MAX: u64 = 3600;
    /// One-use grants of one connection that stand at one time.
    CALL_GRANTS_PER_CONNECTION_MAX: u64 = 256;
    /// Characters of an idempotency key.
    IDEMPOTENCY_KEY_CHARS_MAX: usize = 200;
    /// Time that a finished invocation is remembered for its idempotency key, seconds.
    INVOCATION_KEPT_S: u64 = 7 * 86_400;

    /// Bodies that wait for SQLite's writer; more of them wait for the queue.
    STORE_QUEUE_MAX: usize = 4096;
    /// Bodies in one durable commit of SQLite's writer.
    STORE_GROUP_MAX: usize = 64;
    /// Times a body runs when its group's commit fails.
    STORE_COMMIT_ATTEMPTS_MAX: u32 = 3;
    /// Times a body runs when other PostgreSQL transactions win.
    STORE_CONTENTION_ATTEMPTS_MAX: u32 = 64;
    /// Seconds one transaction body may take.
    STORE_BODY_S_MAX: u64 = 10;
    /// Seconds a statement waits for another process that holds the SQLite file.
    STORE_BUSY_S_MAX: u64 = 5;
    /// Seconds a caller waits for a free PostgreSQL connection.
    STORE_ACQUIRE_S_MAX: u64 = 10;
    /// PostgreSQL connections of one process.
    STORE_CONNECTIONS_MAX: u32 = 10;
    /// Read-only SQLite connections of one process.
    STORE_READERS_MAX: u32 = 4;
    /// Prepared statements kept for one connection.
    STORE_STATEMENTS_MAX: usize = 512;
    /// Access tokens of one session family that are valid at one time; the oldest goes first.
    ACCESS_TOKENS_PER_FAMILY_MAX: u64 = 8;
    /// Nonces of v1 envelopes remembered for one person, for ever (2.b.9); a full store refuses further v1 writes.
    V1_NONCES_PER_USER_MAX: u64 = 100_000;
    /// Browser sessions of one person at one time; the oldest ends when one more is made.
    BROWSER_SESSIONS_PER_USER_MAX: u64 = 16;
    /// Audit events in one page.
    AUDIT_PAGE_MAX: u64 = 500;

    /// Seconds a peer may take to send the head of a request, and to stay silent between two requests.
    HEADER_READ_S_MAX: u64 = 15;
    /// Seconds a peer may take to send a request body.
    BODY_READ_S_MAX: u64 = 60;
    /// Seconds a TLS handshake with the service may take.
    HANDSHAKE_S_MAX: u64 = 10;
    /// Seconds one network connection to the service may live; it bounds readers that never read.
    HTTP_CONNECTION_S_MAX: u64 = 600;
    /// Network connections to the service at one time; more of them wait in the operating system's queue.
    HTTP_CONNECTIONS_MAX: usize = 1024;
    /// Network connections of one peer address at one time; a declared proxy is not counted.
    HTTP_CONNECTIONS_PER_PEER_MAX: usize = 512;
    /// Bytes of request bodies that may be buffered at one time; more of them wait.
    BODIES_BYTES_MAX: usize = 128 * 1024 * 1024;
    /// Seconds that running requests get after the signal to end.
    SHUTDOWN_S_MAX: u64 = 10;
    /// Seconds between two rounds of the service's housekeeping.
    HOUSEKEEPING_S: u64 = 60;
    /// Seconds between two notes that a session was seen.
    LAST_SEEN_S_MIN: u64 = 60;
    /// Characters of one header of a request signature.
    SIGNATURE_HEADER_CHARS_MAX: usize = 128;
    /// Requests that one network may send at once, whoever it is; then one each 20 ms.
    RATE_NETWORK_BURST: u32 = 500;
    /// Requests without proof that one network may send at once; then one each 500 ms.
    RATE_PUBLIC_BURST: u32 = 120;
    /// Pairings that one network may start at once; then one each 5 s.
    RATE_PAIRING_BURST: u32 = 30;
    /// Page requests that one network may send at once; then one each second.
    RATE_PAGES_BURST: u32 = 60;
    /// Signed requests that one device may send at once; then one each 20 ms.
    RATE_DEVICE_BURST: u32 = 600;
    /// Networks a declared proxy may stand in, as configured.
    PROXIES_MAX: usize = 32;
    /// Bytes of the configuration file.
    CONFIG_BYTES_MAX: usize = 64 * 1024;
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_limit_says_what_it_bounds() {
        for (name, value, doc) in super::ALL {
            assert!(*value > 0 && doc.trim().ends_with('.'), "{name}");
        }
    }
}
