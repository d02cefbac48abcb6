//! `share-mcp`, connection rows and device-direct credentials as the public client handles them (wire-collie-v1 2.6, 3.3), with each check it makes before it trusts a reply.

use super::{PublicClient, Refusal, digest, index, pyjson::Py, quote, random, rows, text};

/// One connection row, with what the client uses of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// `personal` or `project`.
    pub scope: String,
    /// Project id, or empty.
    pub project_id: String,
    /// `device_direct` or `cloud_proxy`.
    pub transport: String,
    /// URL.
    pub endpoint: String,
    /// Tool rows.
    pub manifest: Vec<Py>,
    /// Digest the service shows.
    pub manifest_digest: String,
    /// Digest that was reviewed.
    pub reviewed_digest: String,
    /// State.
    pub status: String,
    /// Effects that run without asking.
    pub allowed_effects: Vec<String>,
}

/// What `share-mcp` publishes.
#[derive(Debug, Clone)]
pub struct Shared<'a> {
    /// Name.
    pub name: &'a str,
    /// URL.
    pub endpoint: &'a str,
    /// Tool rows, in any order.
    pub manifest: Vec<Py>,
    /// Project, for project scope.
    pub project_id: Option<&'a str>,
    /// The credential's object.
    pub credential: Py,
}

impl Shared<'_> {
    fn sorted(&self) -> Vec<Py> {
        let mut sorted = self.manifest.clone();
        sorted.sort_by(|a, b| a.find_str("name").cmp(&b.find_str("name")));
        sorted
    }
}

impl Connection {
    fn read(row: &Py) -> Result<Self, Refusal> {
        let allowed = row.find("policy").and_then(|policy| policy.find("allowed_effects")).and_then(Py::as_list);
        Ok(Self {
            id: text(row, "id")?,
            name: text(row, "name")?,
            scope: text(row, "scope")?,
            project_id: text(row, "project_id")?,
            transport: text(row, "transport")?,
            endpoint: text(row, "endpoint")?,
            manifest: rows(row, "manifest")?.to_vec(),
            manifest_digest: text(row, "manifest_digest")?,
            reviewed_digest: text(row, "reviewed_digest")?,
            status: text(row, "status")?,
            allowed_effects: allowed
                .unwrap_or_default()
                .iter()
                .map(|effect| effect.as_str().map(str::to_owned).ok_or(Refusal::NotAString("allowed_effects")))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Whether tools could be registered from this row: active, with a digest, reviewed at exactly it, and the rows hash to it.
    pub fn check_usable(&self) -> Result<(), Refusal> {
        if self.status != "active" {
            return Err(Refusal::NotUsable("status"));
        }
        if self.manifest_digest.is_empty() || self.manifest_digest != self.reviewed_digest {
            return Err(Refusal::NotUsable("reviewed_digest"));
        }
        if digest(Py::List(self.manifest.clone()).dumps()) != self.manifest_digest {
            return Err(Refusal::Differs("manifest_digest"));
        }
        Ok(())
    }

    /// The eight bound fields.
    #[must_use]
    pub fn binding(&self) -> Py {
        Py::dict([
            ("id", Py::from(self.id.as_str())),
            ("name", Py::from(self.name.as_str())),
            ("scope", Py::from(self.scope.as_str())),
            ("project_id", Py::from(self.project_id.as_str())),
            ("transport", Py::from(self.transport.as_str())),
            ("endpoint", Py::from(self.endpoint.as_str())),
            ("manifest_digest", Py::from(self.manifest_digest.as_str())),
            ("reviewed_digest", Py::from(self.reviewed_digest.as_str())),
        ])
    }
}

/// SCOPE of a connection's credential.
#[must_use]
pub fn credential_scope(row: &Connection, workspace_id: &str, user_id: &str) -> String {
    if row.scope == "project" {
        format!("connection-project:{}", row.project_id)
    } else {
        format!("connection-personal:{workspace_id}:{user_id}")
    }
}

impl PublicClient {
    /// Registers: the answer must carry exactly what was sent and computed.
    pub async fn create_connection(&self, shared: &Shared<'_>) -> Result<Connection, Refusal> {
        let sorted = shared.sorted();
        let body = Py::dict([
            ("name", Py::from(shared.name)),
            ("endpoint", Py::from(shared.endpoint)),
            ("manifest", Py::List(sorted.clone())),
            ("scope", Py::from(if shared.project_id.is_some() { "project" } else { "personal" })),
            ("project_id", Py::from(shared.project_id.unwrap_or_default())),
            ("transport", Py::from("device_direct")),
        ]);
        let answer = self.call("POST", "/v1/connections", Some(&body)).await?;
        check_answer(&answer, shared)
    }

    /// Reviews the digest it computed itself.
    pub async fn review_connection(&self, id: &str, shared: &Shared<'_>) -> Result<Connection, Refusal> {
        let expected = digest(Py::List(shared.sorted()).dumps());
        let body = Py::dict([
            ("digest", Py::from(expected.as_str())),
            ("allowed_effects", Py::strings(&["observe", "prepare", "act"])),
        ]);
        let answer = self.call("POST", &format!("/v1/connections/{}/review", quote(id)), Some(&body)).await?;
        let row = check_answer(&answer, shared)?;
        if row.reviewed_digest != expected {
            return Err(Refusal::Differs("reviewed_digest"));
        }
        Ok(row)
    }

    /// Seals a credential for the reviewed row, in the frozen envelope.
    #[must_use]
    pub fn seal_credential(&self, row: &Connection, credential: &Py, sealed_at: i64, nonce: [u8; 12]) -> Py {
        let (workspace, user) = self.profile.as_ref().map_or(("", ""), |p| (&p.workspace_id, &p.user_id));
        let content = Py::dict([
            ("version", Py::from(1)),
            ("binding", row.binding()),
            ("credential", credential.clone()),
            ("sealed_at", Py::from(sealed_at)),
        ]);
        self.seal.seal(
            &credential_scope(row, workspace, user),
            &format!("connection-credential:{}", row.id),
            &content,
            nonce,
        )
    }

    /// Stores a sealed credential; the `updated_at` of the answer, or its own clock where the answer has none.
    pub async fn put_credential(&mut self, id: &str, envelope: Py) -> Result<i64, Refusal> {
        let body = Py::dict([("sealed_credential", envelope.clone())]);
        let answer = self.call("POST", &format!("/v1/connections/{}/credential", quote(id)), Some(&body)).await?;
        let updated_at = answer.find("updated_at").and_then(Py::as_i64).unwrap_or_else(super::now);
        self.credentials.insert(id.to_owned(), (envelope, updated_at));
        Ok(updated_at)
    }

    /// The whole of `share-mcp`: create → review → seal → list.
    pub async fn share_mcp(&mut self, shared: &Shared<'_>) -> Result<Connection, Refusal> {
        let created = self.create_connection(shared).await?;
        let row = self.review_connection(&created.id, shared).await?;
        row.check_usable()?;
        let envelope = self.seal_credential(&row, &shared.credential, super::now(), random());
        self.put_credential(&row.id, envelope).await?;
        let listed = self.list_connections().await?;
        listed.into_iter().find(|found| found.id == row.id).ok_or(Refusal::NotUsable("not listed"))
    }

    /// The complete list.
    pub async fn list_connections(&self) -> Result<Vec<Connection>, Refusal> {
        let answer = self.call("GET", "/v1/connections", None).await?;
        rows(&answer, "connections")?.iter().map(Connection::read).collect()
    }

    /// One stored credential. A missing or zero `updated_at` would end the whole sync.
    pub async fn fetch_credential(&self, id: &str) -> Result<(Py, i64), Refusal> {
        let answer = self.call("GET", &format!("/v1/connections/{}/credential", quote(id)), None).await?;
        let envelope = index(&answer, "sealed_credential")?.clone();
        let updated_at =
            answer.find("updated_at").and_then(Py::as_i64).filter(|at| *at > 0).ok_or(Refusal::UpdatedAtZero)?;
        Ok((envelope, updated_at))
    }

    /// Opens a credential for a row: first what can be checked before decryption, then the envelope, then the binding.
    pub fn open_credential(&self, row: &Connection, envelope: &Py) -> Result<Py, Refusal> {
        row.check_usable()?;
        let profile = self.profile()?;
        let scope = credential_scope(row, &profile.workspace_id, &profile.user_id);
        let content = self
            .seal
            .open(&scope, &format!("connection-credential:{}", row.id), envelope)
            .ok_or(Refusal::CannotOpen)?;
        if content.find("version").and_then(Py::as_i64) != Some(1) {
            return Err(Refusal::CannotOpen);
        }
        if index(&content, "binding")?.dumps() != row.binding().dumps() {
            return Err(Refusal::Differs("binding"));
        }
        let credential = index(&content, "credential")?;
        let complete = credential.find("access_token").is_some_and(Py::is_truthy)
            || credential.find("headers").is_some_and(|headers| headers.as_dict().is_some());
        if complete { Ok(credential.clone()) } else { Err(Refusal::MissingKey("access_token")) }
    }

    /// What the endpoint would do at start: the usable rows whose credential opens, by id.
    #[must_use]
    pub fn usable(&self) -> Vec<(Connection, Py)> {
        self.connections
            .iter()
            .filter_map(|row| {
                let (envelope, _) = self.credentials.get(&row.id)?;
                self.open_credential(row, envelope).ok().map(|credential| (row.clone(), credential))
            })
            .collect()
    }

    /// The library's revoke, which no command calls.
    pub async fn revoke_connection(&self, id: &str) -> Result<(), Refusal> {
        self.call("POST", &format!("/v1/connections/{}/revoke", quote(id)), Some(&Py::dict([]))).await.map(|_| ())
    }
}

fn check_answer(answer: &Py, shared: &Shared<'_>) -> Result<Connection, Refusal> {
    let row = index(answer, "connection")?;
    let sorted = Py::List(shared.sorted()).dumps();
    text(row, "id")?;
    for (key, expected) in [("endpoint", shared.endpoint), ("transport", "device_direct")] {
        if text(row, key)? != expected {
            return Err(Refusal::Differs(key));
        }
    }
    if index(row, "manifest")?.dumps() != sorted {
        return Err(Refusal::Differs("manifest"));
    }
    if text(row, "manifest_digest")? != digest(&sorted) {
        return Err(Refusal::Differs("manifest_digest"));
    }
    Connection::read(row)
}
