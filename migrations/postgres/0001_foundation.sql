-- Identity, workspaces, sessions, connections, sealed credentials and the audit log.

CREATE TABLE "user" (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  display_name TEXT COLLATE "C" NOT NULL,
  created_at_ms BIGINT NOT NULL
);

-- At most one row. Its owner is the person that the first start made.
CREATE TABLE deployment (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  only_one BIGINT NOT NULL UNIQUE CHECK (only_one = 1),
  owner_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  created_at_ms BIGINT NOT NULL
);

CREATE TABLE workspace (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('personal', 'team')),
  created_at_ms BIGINT NOT NULL
);

CREATE TABLE membership (
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'guest')),
  created_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX membership_user ON membership (user_id, workspace_id);

-- `requested_id` is the id its author asked for; `id` differs from it when somebody else's project had it already.
CREATE TABLE project (
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  requested_id TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX project_requested ON project (workspace_id, created_by, requested_id);

CREATE TABLE project_member (
  workspace_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'guest')),
  created_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, project_id, user_id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  FOREIGN KEY (workspace_id, user_id) REFERENCES membership (workspace_id, user_id) ON DELETE CASCADE
);
CREATE INDEX project_member_user ON project_member (workspace_id, user_id, project_id);

CREATE TABLE owner_link (
  token_hmac BYTEA NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL
);
CREATE INDEX owner_link_user ON owner_link (user_id);

CREATE TABLE browser_session (
  token_hmac BYTEA NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL
);
CREATE INDEX browser_session_user ON browser_session (user_id, created_at_ms);

CREATE TABLE device (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  name TEXT COLLATE "C" NOT NULL,
  public_key BYTEA NOT NULL,
  session_class TEXT COLLATE "C" NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  created_at_ms BIGINT NOT NULL,
  last_seen_at_ms BIGINT NOT NULL,
  flagged_at_ms BIGINT,
  revoked_at_ms BIGINT
);
CREATE INDEX device_user ON device (user_id, created_at_ms);

CREATE TABLE session_family (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  device_id TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  session_class TEXT COLLATE "C" NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  refresh_issued BIGINT NOT NULL CHECK (refresh_issued >= 1),
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  ends_at_ms BIGINT NOT NULL,
  ended_at_ms BIGINT,
  end_reason TEXT COLLATE "C" CHECK (end_reason IN ('device_revoked', 'refresh_reused', 'replaced', 'membership_ended')),
  CHECK ((ended_at_ms IS NULL) = (end_reason IS NULL)),
  CHECK (expires_at_ms <= ends_at_ms)
);
CREATE INDEX session_family_device ON session_family (device_id, created_at_ms);
CREATE INDEX session_family_member ON session_family (workspace_id, user_id);
CREATE INDEX session_family_ends ON session_family (ends_at_ms);

CREATE TABLE access_token (
  token_hmac BYTEA NOT NULL PRIMARY KEY,
  family_id TEXT COLLATE "C" NOT NULL REFERENCES session_family (id) ON DELETE CASCADE,
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL
);
CREATE INDEX access_token_family ON access_token (family_id, created_at_ms);
CREATE INDEX access_token_expires ON access_token (expires_at_ms);

CREATE TABLE pairing (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  device_code_hmac BYTEA NOT NULL UNIQUE,
  user_code_hmac BYTEA NOT NULL UNIQUE,
  challenge TEXT COLLATE "C" NOT NULL,
  public_key BYTEA NOT NULL,
  device_name TEXT COLLATE "C" NOT NULL,
  session_class TEXT COLLATE "C" NOT NULL CHECK (session_class IN ('rotating', 'sliding')),
  origin TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'approved', 'refused', 'claimed')),
  workspace_id TEXT COLLATE "C" REFERENCES workspace (id),
  user_id TEXT COLLATE "C" REFERENCES "user" (id),
  device_id TEXT COLLATE "C" REFERENCES device (id),
  family_id TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  decided_at_ms BIGINT,
  claimed_at_ms BIGINT,
  CHECK ((state IN ('approved', 'claimed')) = (user_id IS NOT NULL)),
  CHECK ((state IN ('approved', 'claimed')) = (workspace_id IS NOT NULL)),
  CHECK ((state = 'claimed') = (device_id IS NOT NULL)),
  CHECK ((state = 'claimed') = (claimed_at_ms IS NOT NULL)),
  CHECK ((state = 'claimed') = (family_id IS NOT NULL)),
  CHECK ((state = 'waiting') = (decided_at_ms IS NULL))
);
CREATE INDEX pairing_expires ON pairing (expires_at_ms);

CREATE TABLE pairing_try (
  subject TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  tries BIGINT NOT NULL,
  resets_at_ms BIGINT NOT NULL
);

CREATE TABLE request_nonce (
  device_id TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  nonce TEXT COLLATE "C" NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (device_id, nonce)
);
CREATE INDEX request_nonce_expires ON request_nonce (device_id, expires_at_ms);

CREATE TABLE connection (
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  name TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL CHECK (scope IN ('personal', 'project')),
  project_id TEXT COLLATE "C",
  profile TEXT COLLATE "C" NOT NULL CHECK (profile IN ('device_direct', 'cloud_proxy')),
  endpoint TEXT COLLATE "C" NOT NULL,
  manifest TEXT COLLATE "C" NOT NULL,
  manifest_digest TEXT COLLATE "C" NOT NULL,
  reviewed_digest TEXT COLLATE "C",
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('review_required', 'active', 'revoked')),
  allowed_effects TEXT COLLATE "C" NOT NULL,
  seal_format TEXT COLLATE "C" NOT NULL CHECK (seal_format IN ('v1', 'v2')),
  version BIGINT NOT NULL CHECK (version >= 1),
  raw_manifest TEXT COLLATE "C",
  raw_digest TEXT COLLATE "C",
  reviewed_raw_digest TEXT COLLATE "C",
  review TEXT COLLATE "C",
  review_digest TEXT COLLATE "C",
  review_seq BIGINT NOT NULL CHECK (review_seq >= 0),
  reviewed_by TEXT COLLATE "C" REFERENCES device (id),
  created_by TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  CHECK ((scope = 'project') = (project_id IS NOT NULL)),
  CHECK ((status = 'active') = (reviewed_digest IS NOT NULL)),
  CHECK ((raw_manifest IS NULL) = (raw_digest IS NULL)),
  CHECK ((review IS NULL) = (review_digest IS NULL)),
  CHECK ((review IS NULL) = (review_seq = 0))
);
CREATE INDEX connection_user ON connection (workspace_id, user_id);
CREATE INDEX connection_project ON connection (workspace_id, project_id);

CREATE TABLE connection_credential (
  workspace_id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL CHECK (version >= 1),
  sealed TEXT COLLATE "C" NOT NULL,
  commitment TEXT COLLATE "C" NOT NULL,
  author_device TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  updated_at_s BIGINT NOT NULL CHECK (updated_at_s > 0),
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
);

CREATE TABLE v1_nonce (
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  nonce BYTEA NOT NULL,
  PRIMARY KEY (user_id, nonce)
);

CREATE TABLE audit_head (
  log_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seq BIGINT NOT NULL CHECK (seq >= 1)
);

CREATE TABLE audit_event (
  log_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL CHECK (seq >= 1),
  at_ms BIGINT NOT NULL,
  actor_kind TEXT COLLATE "C" NOT NULL CHECK (actor_kind IN ('anonymous', 'browser', 'device', 'operator')),
  actor TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (log_id, seq)
);
