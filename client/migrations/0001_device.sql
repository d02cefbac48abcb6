-- What one device keeps about one service. Nothing here is readable without the person's sealing key, but for names, endpoints and manifests.

CREATE TABLE connection (
  connection_id TEXT PRIMARY KEY,
  workspace_id  TEXT    NOT NULL,
  status        TEXT    NOT NULL CHECK (status IN ('review_required', 'active', 'revoked')),
  row           TEXT    NOT NULL,               -- canonical JSON of the row as last served
  stored_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE sealed_credential (
  connection_id TEXT PRIMARY KEY REFERENCES connection (connection_id) ON DELETE CASCADE,
  seal_format   TEXT    NOT NULL CHECK (seal_format IN ('v1', 'v2')),
  version       INTEGER NOT NULL,
  sealed        TEXT    NOT NULL,               -- canonical JSON as it travels
  updated_at    INTEGER NOT NULL,               -- Unix seconds, as the service says
  stored_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE reviewed_manifest (
  connection_id TEXT PRIMARY KEY REFERENCES connection (connection_id) ON DELETE CASCADE,
  raw_digest    TEXT    NOT NULL,
  manifest      TEXT    NOT NULL,               -- canonical JSON
  stored_ms     INTEGER NOT NULL
) STRICT;

-- The last time the live manifest was read.
CREATE TABLE live_check (
  connection_id TEXT PRIMARY KEY REFERENCES connection (connection_id) ON DELETE CASCADE,
  era           TEXT    NOT NULL CHECK (era IN ('2025-11-25', '2026-07-28')),
  raw_digest    TEXT    NOT NULL,
  checked_ms    INTEGER NOT NULL
) STRICT;

-- Outlives the copy: an older review or credential is never taken again.
CREATE TABLE high_water (
  connection_id      TEXT PRIMARY KEY,
  review_seq         INTEGER NOT NULL,
  credential_version INTEGER NOT NULL,
  credential_commit  TEXT    NOT NULL           -- b64u commitment of that payload blob, empty before the first
) STRICT;

-- Keys of the account's devices as the service lists them, to check signatures offline.
CREATE TABLE directory_device (
  device_id  TEXT PRIMARY KEY,
  public_key TEXT    NOT NULL,                  -- b64u
  name       TEXT    NOT NULL,
  revoked_at INTEGER NOT NULL,                  -- Unix seconds, 0 while it stands
  stored_ms  INTEGER NOT NULL
) STRICT;

-- Calls made from this device. Outlives the copy and the session: a call is never repeated blindly.
CREATE TABLE invocation (
  connection_id   TEXT    NOT NULL,
  idempotency_key TEXT    NOT NULL,
  tool            TEXT    NOT NULL,
  args_digest     TEXT    NOT NULL,
  op_digest       TEXT    NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('intent', 'completed', 'uncertain', 'refused')),
  settled_by      TEXT    NOT NULL DEFAULT '' CHECK (settled_by IN ('', 'person')),
  result_digest   TEXT    NOT NULL DEFAULT '',
  result_sealed   BLOB,                         -- a device-local blob (type 15) under the sealing key, for answers to the same key
  created_ms      INTEGER NOT NULL,
  updated_ms      INTEGER NOT NULL,
  PRIMARY KEY (connection_id, idempotency_key)
) STRICT;

CREATE INDEX invocation_open ON invocation (updated_ms) WHERE state IN ('intent', 'uncertain');

-- Secrets of the device, each a device-local blob (type 15) under the sealing key.
CREATE TABLE local_secret (
  name      TEXT PRIMARY KEY,
  sealed    BLOB    NOT NULL,
  stored_ms INTEGER NOT NULL
) STRICT;

-- The newest signed review that stood, kept when the service lifts it: the credential is sealed under it until the next one.
CREATE TABLE last_review (
  connection_id TEXT PRIMARY KEY REFERENCES connection (connection_id) ON DELETE CASCADE,
  review        TEXT NOT NULL                   -- canonical JSON as it travels
) STRICT;

-- Private networks that a person allowed a connection to lie in, on this device.
CREATE TABLE allowed_network (
  connection_id TEXT NOT NULL,
  network       TEXT NOT NULL,
  PRIMARY KEY (connection_id, network)
) STRICT;

-- Raw manifests of connections that the public client reviewed, pinned at the first reading that fits its rows.
CREATE TABLE public_pin (
  connection_id   TEXT PRIMARY KEY,
  manifest_digest TEXT NOT NULL,                -- the public client's digest of its rows
  raw_digest      TEXT NOT NULL,
  era             TEXT NOT NULL CHECK (era IN ('2025-11-25', '2026-07-28'))
) STRICT;
