-- The service's vault of cloud_proxy connections: sealed secrets, sign-ins in progress, loans, and the ledger of invocations.

-- A known content under the installation's own key: opens exactly when key, key store and database belong together.
CREATE TABLE boot_canary (
  deployment_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES deployment (id),
  dek BYTEA NOT NULL,
  tmk_gen BIGINT NOT NULL CHECK (tmk_gen >= 1),
  created_at_ms BIGINT NOT NULL
);

-- What a grant was reviewed for. The fields that name a party are part of what its secrets are sealed under.
CREATE TABLE connection_oauth (
  workspace_id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  issuer TEXT COLLATE "C" NOT NULL,
  client_id TEXT COLLATE "C" NOT NULL,
  client_identity TEXT COLLATE "C" NOT NULL CHECK (client_identity IN ('given', 'cimd', 'registered')),
  client_auth TEXT COLLATE "C" NOT NULL CHECK (client_auth IN ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  scopes TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C",
  revocation TEXT COLLATE "C" NOT NULL CHECK (revocation IN ('token', 'family', 'grant')),
  reuse_safe BIGINT NOT NULL CHECK (reuse_safe IN (0, 1)),
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
);

CREATE TABLE vault_credential (
  workspace_id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  secret_kind TEXT COLLATE "C" NOT NULL CHECK (secret_kind IN ('none', 'static_bearer', 'static_header', 'oauth', 'client_secret', 'dcr')),
  version BIGINT NOT NULL CHECK (version >= 1),
  dek BYTEA NOT NULL,
  payload BYTEA NOT NULL,
  commitment TEXT COLLATE "C" NOT NULL,
  tmk_gen BIGINT NOT NULL CHECK (tmk_gen >= 1),
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, connection_id, secret_kind),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
);

-- Taken once. Its connection may still be a draft.
CREATE TABLE oauth_txn (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  connection_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  device_id TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  purpose TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('authorization', 'waiting_credential', 'revocation')),
  secret_kind TEXT COLLATE "C" NOT NULL CHECK (secret_kind IN ('none', 'static_bearer', 'static_header', 'oauth', 'client_secret', 'dcr', 'pkce')),
  endpoint TEXT COLLATE "C" NOT NULL,
  issuer TEXT COLLATE "C" NOT NULL,
  client_id TEXT COLLATE "C" NOT NULL,
  client_identity TEXT COLLATE "C" CHECK (client_identity IN ('given', 'cimd', 'registered')),
  client_auth TEXT COLLATE "C" CHECK (client_auth IN ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  scopes TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C",
  dek BYTEA NOT NULL,
  payload BYTEA NOT NULL,
  tmk_gen BIGINT NOT NULL CHECK (tmk_gen >= 1),
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  CHECK ((purpose = 'authorization') = (secret_kind = 'pkce')),
  CHECK ((client_identity IS NULL) = (client_auth IS NULL)),
  CHECK ((client_identity IS NULL) = (client_id = ''))
);
CREATE INDEX oauth_txn_connection ON oauth_txn (workspace_id, connection_id);
CREATE INDEX oauth_txn_expires ON oauth_txn (expires_at_ms);

-- A downstream credential that a device holds until its end.
CREATE TABLE loan (
  workspace_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  device_id TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  review_digest TEXT COLLATE "C" NOT NULL,
  credential_version BIGINT NOT NULL CHECK (credential_version >= 1),
  scopes TEXT COLLATE "C" NOT NULL,
  unchecked BIGINT NOT NULL CHECK (unchecked IN (0, 1)),
  issued_at_ms BIGINT NOT NULL,
  ends_at_ms BIGINT NOT NULL,
  ended_at_ms BIGINT,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK (ends_at_ms > issued_at_ms)
);
CREATE INDEX loan_connection ON loan (workspace_id, connection_id, ends_at_ms);

-- Durable before the call leaves. A call that was sent and whose outcome is unknown is never sent again.
CREATE TABLE invocation (
  workspace_id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  idempotency_key TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  arguments_digest TEXT COLLATE "C" NOT NULL,
  review_digest TEXT COLLATE "C" NOT NULL,
  process TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('intent', 'sent', 'completed', 'uncertain')),
  result_digest TEXT COLLATE "C",
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, connection_id, device_id, idempotency_key),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK ((state = 'completed') = (result_digest IS NOT NULL))
);
CREATE INDEX invocation_open ON invocation (process, state);
CREATE INDEX invocation_updated ON invocation (state, updated_at_ms);
