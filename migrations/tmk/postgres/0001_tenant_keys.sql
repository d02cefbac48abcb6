-- Wrapped tenant keys, in a database of their own that is left out of the main backup. A workspace that is the empty text is the installation itself.

CREATE TABLE vault_tmk (
  workspace_id TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL CHECK (generation >= 1),
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'decrypt_only')),
  wk BYTEA NOT NULL,
  tmk BYTEA NOT NULL,
  created_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, generation)
);
CREATE UNIQUE INDEX vault_tmk_active ON vault_tmk (workspace_id) WHERE state = 'active';
