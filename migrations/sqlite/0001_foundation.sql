-- Identity, workspaces, sessions, connections, sealed credentials and the audit log.

CREATE TABLE "user" (
  id TEXT NOT NULL PRIMARY KEY,
  display_name TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- At most one row. Its owner is the person that the first start made.
CREATE TABLE deployment (
  id TEXT NOT NULL PRIMARY KEY,
  only_one INTEGER NOT NULL UNIQUE CHECK (only_one = 1),
  owner_id TEXT NOT NULL REFERENCES "user" (id),
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE workspace (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('personal', 'team')),
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE membership (
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  user_id TEXT NOT NULL REFERENCES "user" (id),
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'guest')),
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
) STRICT;
CREATE INDEX membership_user ON membership (user_id, workspace_id);

-- `requested_id` is the id its author asked for; `id` differs from it when somebody else's project had it already.
CREATE TABLE project (
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  created_by TEXT NOT NULL REFERENCES "user" (id),
  requested_id TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id)
) STRICT;
CREATE UNIQUE INDEX project_requested ON project (workspace_id, created_by, requested_id);

CREATE TABLE project_member (
  workspace_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'guest')),
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, project_id, user_id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  FOREIGN KEY (workspace_id, user_id) REFERENCES membership (workspace_id, user_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX project_member_user ON project_member (workspace_id, user_id, project_id);

CREATE TABLE owner_link (
  token_hmac BLOB NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX owner_link_user ON owner_link (user_id);

CREATE TABLE browser_session (
  token_hmac BLOB NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX browser_session_user ON browser_session (user_id, created_at_ms);

CREATE TABLE device (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  name TEXT NOT NULL,
  public_key BLOB NOT NULL,
  session_class TEXT NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  created_at_ms INTEGER NOT NULL,
  last_seen_at_ms INTEGER NOT NULL,
  flagged_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT;
CREATE INDEX device_user ON device (user_id, created_at_ms);

CREATE TABLE session_family (
  id TEXT NOT NULL PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  user_id TEXT NOT NULL REFERENCES "user" (id),
  device_id TEXT NOT NULL REFERENCES device (id),
  session_class TEXT NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  refresh_issued INTEGER NOT NULL CHECK (refresh_issued >= 1),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  end_reason TEXT CHECK (end_reason IN ('device_revoked', 'refresh_reused', 'replaced', 'membership_ended')),
  CHECK ((ended_at_ms IS NULL) = (end_reason IS NULL)),
  CHECK (expires_at_ms <= ends_at_ms)
) STRICT;
CREATE INDEX session_family_device ON session_family (device_id, created_at_ms);
CREATE INDEX session_family_member ON session_family (workspace_id, user_id);
CREATE INDEX session_family_ends ON session_family (ends_at_ms);

CREATE TABLE access_token (
  token_hmac BLOB NOT NULL PRIMARY KEY,
  family_id TEXT NOT NULL REFERENCES session_family (id) ON DELETE CASCADE,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX access_token_family ON access_token (family_id, created_at_ms);
CREATE INDEX access_token_expires ON access_token (expires_at_ms);

CREATE TABLE pairing (
  id TEXT NOT NULL PRIMARY KEY,
  device_code_hmac BLOB NOT NULL UNIQUE,
  user_code_hmac BLOB NOT NULL UNIQUE,
  challenge TEXT NOT NULL,
  public_key BLOB NOT NULL,
  device_name TEXT NOT NULL,
  session_class TEXT NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  origin TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'claimed')),
  workspace_id TEXT REFERENCES workspace (id),
  user_id TEXT REFERENCES "user" (id),
  device_id TEXT REFERENCES device (id),
  family_id TEXT,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  decided_at_ms INTEGER,
  claimed_at_ms INTEGER,
  CHECK ((state IN ('approved', 'claimed')) = (user_id IS NOT NULL)),
  CHECK ((state IN ('approved', 'claimed')) = (workspace_id IS NOT NULL)),
  CHECK ((state = 'claimed') = (device_id IS NOT NULL)),
  CHECK ((state = 'claimed') = (claimed_at_ms IS NOT NULL)),
  CHECK ((state = 'claimed') = (family_id IS NOT NULL)),
  CHECK ((state = 'waiting') = (decided_at_ms IS NULL))
) STRICT;
CREATE INDEX pairing_expires ON pairing (expires_at_ms);

CREATE TABLE pairing_try (
  subject TEXT NOT NULL PRIMARY KEY,
  tries INTEGER NOT NULL,
  resets_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE request_nonce (
  device_id TEXT NOT NULL REFERENCES device (id),
  nonce TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (device_id, nonce)
) STRICT;
CREATE INDEX request_nonce_expires ON request_nonce (device_id, expires_at_ms);

CREATE TABLE connection (
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('personal', 'project')),
  project_id TEXT,
  profile TEXT NOT NULL CHECK (profile IN ('device_direct', 'cloud_proxy')),
  endpoint TEXT NOT NULL,
  manifest TEXT NOT NULL,
  manifest_digest TEXT NOT NULL,
  reviewed_digest TEXT,
  status TEXT NOT NULL CHECK (status IN ('review_required', 'active', 'revoked')),
  allowed_effects TEXT NOT NULL,
  seal_format TEXT NOT NULL CHECK (seal_format IN ('v1', 'v2')),
  version INTEGER NOT NULL CHECK (version >= 1),
  raw_manifest TEXT,
  raw_digest TEXT,
  reviewed_raw_digest TEXT,
  review TEXT,
  review_digest TEXT,
  review_seq INTEGER NOT NULL CHECK (review_seq >= 0),
  reviewed_by TEXT REFERENCES device (id),
  created_by TEXT NOT NULL REFERENCES device (id),
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  CHECK ((scope = 'project') = (project_id IS NOT NULL)),
  CHECK ((status = 'active') = (reviewed_digest IS NOT NULL)),
  CHECK ((raw_manifest IS NULL) = (raw_digest IS NULL)),
  CHECK ((review IS NULL) = (review_digest IS NULL)),
  CHECK ((review IS NULL) = (review_seq = 0))
) STRICT;
CREATE INDEX connection_user ON connection (workspace_id, user_id);
CREATE INDEX connection_project ON connection (workspace_id, project_id);

CREATE TABLE connection_credential (
  workspace_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  sealed TEXT NOT NULL,
  commitment TEXT NOT NULL,
  author_device TEXT NOT NULL REFERENCES device (id),
  updated_at_s INTEGER NOT NULL CHECK (updated_at_s > 0),
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
) STRICT;

CREATE TABLE v1_nonce (
  user_id TEXT NOT NULL REFERENCES "user" (id),
  nonce BLOB NOT NULL,
  PRIMARY KEY (user_id, nonce)
) STRICT;

CREATE TABLE audit_head (
  log_id TEXT NOT NULL PRIMARY KEY,
  seq INTEGER NOT NULL CHECK (seq >= 1)
) STRICT;

CREATE TABLE audit_event (
  log_id TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  at_ms INTEGER NOT NULL,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('anonymous', 'browser', 'device', 'operator')),
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (log_id, seq)
) STRICT;
