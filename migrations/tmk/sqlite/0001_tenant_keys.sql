-- Wrapped tenant keys, in a database of their own that is left out of the main backup. A workspace that is the empty text is the installation itself.

CREATE TABLE vault_tmk (
  workspace_id TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  state TEXT NOT NULL CHECK (state IN ('active', 'decrypt_only')),
  wk BLOB NOT NULL,
  tmk BLOB NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, generation)
) STRICT;
CREATE UNIQUE INDEX vault_tmk_active ON vault_tmk (workspace_id) WHERE state = 'active';
