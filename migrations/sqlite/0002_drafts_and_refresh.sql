-- Connections that are being made, and who may refresh a grant that several owners share (2.b.8).

-- Its id becomes the connection's. A draft that nobody finishes is swept.
CREATE TABLE connection_draft (
  workspace_id TEXT NOT NULL REFERENCES workspace (id),
  id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES "user" (id),
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('personal', 'project')),
  project_id TEXT,
  profile TEXT NOT NULL CHECK (profile IN ('device_direct', 'cloud_proxy')),
  endpoint TEXT NOT NULL,
  seal_format TEXT NOT NULL CHECK (seal_format IN ('v1', 'v2')),
  created_by TEXT NOT NULL REFERENCES device (id),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  CHECK ((scope = 'project') = (project_id IS NOT NULL))
) STRICT;
CREATE INDEX connection_draft_user ON connection_draft (workspace_id, user_id);
CREATE INDEX connection_draft_expires ON connection_draft (expires_at_ms);

-- Made by the first lease. An owner is a device or a process of the service; the intent outlives its lease.
CREATE TABLE connection_refresh (
  workspace_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  grant_epoch INTEGER NOT NULL CHECK (grant_epoch >= 1),
  status TEXT NOT NULL CHECK (status IN ('live', 'uncertain', 'dead')),
  fence INTEGER NOT NULL CHECK (fence >= 0),
  lease_owner TEXT,
  lease_expires_at_ms INTEGER,
  intent_owner TEXT,
  intent_fence INTEGER,
  intent_version INTEGER,
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK ((lease_owner IS NULL) = (lease_expires_at_ms IS NULL)),
  CHECK ((intent_owner IS NULL) = (intent_fence IS NULL)),
  CHECK ((intent_owner IS NULL) = (intent_version IS NULL)),
  CHECK (status <> 'dead' OR intent_owner IS NULL)
) STRICT;
CREATE INDEX connection_refresh_intent ON connection_refresh (intent_owner);
CREATE INDEX connection_refresh_lease ON connection_refresh (lease_owner);
