-- Connections that are being made, and who may refresh a grant that several owners share (2.b.8).

-- Its id becomes the connection's. A draft that nobody finishes is swept.
CREATE TABLE connection_draft (
  workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspace (id),
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES "user" (id),
  name TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL CHECK (scope IN ('personal', 'project')),
  project_id TEXT COLLATE "C",
  profile TEXT COLLATE "C" NOT NULL CHECK (profile IN ('device_direct', 'cloud_proxy')),
  endpoint TEXT COLLATE "C" NOT NULL,
  seal_format TEXT COLLATE "C" NOT NULL CHECK (seal_format IN ('v1', 'v2')),
  created_by TEXT COLLATE "C" NOT NULL REFERENCES device (id),
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, project_id) REFERENCES project (workspace_id, id),
  CHECK ((scope = 'project') = (project_id IS NOT NULL))
);
CREATE INDEX connection_draft_user ON connection_draft (workspace_id, user_id);
CREATE INDEX connection_draft_expires ON connection_draft (expires_at_ms);

-- Made by the first lease. An owner is a device or a process of the service; the intent outlives its lease.
CREATE TABLE connection_refresh (
  workspace_id TEXT COLLATE "C" NOT NULL,
  connection_id TEXT COLLATE "C" NOT NULL,
  grant_epoch BIGINT NOT NULL CHECK (grant_epoch >= 1),
  status TEXT COLLATE "C" NOT NULL CHECK (status IN ('live', 'uncertain', 'dead')),
  fence BIGINT NOT NULL CHECK (fence >= 0),
  lease_owner TEXT COLLATE "C",
  lease_expires_at_ms BIGINT,
  intent_owner TEXT COLLATE "C",
  intent_fence BIGINT,
  intent_version BIGINT,
  PRIMARY KEY (workspace_id, connection_id),
  FOREIGN KEY (workspace_id, connection_id) REFERENCES connection (workspace_id, id),
  CHECK ((lease_owner IS NULL) = (lease_expires_at_ms IS NULL)),
  CHECK ((intent_owner IS NULL) = (intent_fence IS NULL)),
  CHECK ((intent_owner IS NULL) = (intent_version IS NULL)),
  CHECK (status <> 'dead' OR intent_owner IS NULL)
);
CREATE INDEX connection_refresh_intent ON connection_refresh (intent_owner);
CREATE INDEX connection_refresh_lease ON connection_refresh (lease_owner);
