-- The service's vault of cloud_proxy connections: sealed secrets, sign-ins in progress, loans, and the ledger of invocations.

-- A known content under the installation's own key: opens exactly when key, key store and database belong together.
CREATE TABLE boot_canary (
  deployment_id TEXT NOT NULL PRIMARY KEY REFERENCES deployment (id),
  dek BLOB NOT NULL,
  tmk_gen INTEGER NOT NULL CHECK (tmk_gen >= 1),
  created_at_ms INTEGER NOT NULL
) STRICT;

-- What a grant was reviewed for. The fields that name a party are part of what its secrets are sealed under.
CREATE TABLE connection_oauth (
  workspace_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_identity TEXT NOT NULL CHECK (client_identity IN ('given', 'cimd', 'registered')),
  client_auth TEXT NOT NULL CHECK (client_auth IN ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  scopes TEXT NOT NULL,
  subject TEXT,
  revocation TEXT NOT NULL CHECK (revocation IN ('token', 'family', 'grant')),
  reuse_safe INTEGER NOT NULL CHECK (reuse_safe IN (0, 1)),
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
) STRICT;

CREATE TABLE vault_credential (
  workspace_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  secret_kind TEXT NOT NULL CHECK (secret_kind IN ('none', 'static_bearer', 'static_header', 'oauth', 'client_secret', 'dcr')),
  version INTEGER NOT NULL CHECK (version >= 1),
  dek BLOB NOT NULL,
  payload BLOB NOT NULL,
  commitment TEXT NOT NULL,
  tmk_gen INTEGER NOT NULL CHECK (tmk_gen >= 1),
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, connection_id, secret_kind),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id)
) STRICT;

-- Taken once. Its connection may still be a draft.
CREATE TABLE oauth_txn (
  id TEXT NOT NULL PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  connection_id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  device_id TEXT NOT NULL REFERENCES device (id),
  purpose TEXT NOT NULL CHECK (purpose IN ('authorization', 'waiting_credential', 'revocation')),
  secret_kind TEXT NOT NULL CHECK (secret_kind IN ('none', 'static_bearer', 'static_header', 'oauth', 'client_secret', 'dcr', 'pkce')),
  endpoint TEXT NOT NULL,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  client_identity TEXT CHECK (client_identity IN ('given', 'cimd', 'registered')),
  client_auth TEXT CHECK (client_auth IN ('none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  scopes TEXT NOT NULL,
  subject TEXT,
  dek BLOB NOT NULL,
  payload BLOB NOT NULL,
  tmk_gen INTEGER NOT NULL CHECK (tmk_gen >= 1),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  CHECK ((purpose = 'authorization') = (secret_kind = 'pkce')),
  CHECK ((client_identity IS NULL) = (client_auth IS NULL)),
  CHECK ((client_identity IS NULL) = (client_id = ''))
) STRICT;
CREATE INDEX oauth_txn_connection ON oauth_txn (workspace_id, connection_id);
CREATE INDEX oauth_txn_expires ON oauth_txn (expires_at_ms);

-- A downstream credential that a device holds until its end.
CREATE TABLE loan (
  workspace_id TEXT NOT NULL,
  id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  device_id TEXT NOT NULL REFERENCES device (id),
  review_digest TEXT NOT NULL,
  credential_version INTEGER NOT NULL CHECK (credential_version >= 1),
  scopes TEXT NOT NULL,
  unchecked INTEGER NOT NULL CHECK (unchecked IN (0, 1)),
  issued_at_ms INTEGER NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK (ends_at_ms > issued_at_ms)
) STRICT;
CREATE INDEX loan_connection ON loan (workspace_id, connection_id, ends_at_ms);

-- Durable before the call leaves. A call that was sent and whose outcome is unknown is never sent again.
CREATE TABLE invocation (
  workspace_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  device_id TEXT NOT NULL REFERENCES device (id),
  idempotency_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  arguments_digest TEXT NOT NULL,
  review_digest TEXT NOT NULL,
  process TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('intent', 'sent', 'completed', 'uncertain')),
  result_digest TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, connection_id, device_id, idempotency_key),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK ((state = 'completed') = (result_digest IS NOT NULL))
) STRICT;
CREATE INDEX invocation_open ON invocation (process, state);
CREATE INDEX invocation_updated ON invocation (state, updated_at_ms);
