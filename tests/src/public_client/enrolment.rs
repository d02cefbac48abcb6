//! Login, logout and devices as the public client does them (wire-collie-v1 2.1 to 2.3). Never refreshes: none of its commands does.

use super::{
    Profile, PublicClient, Refusal, b64u, digest, failure, http::Incoming, index, is_id, object, pyjson::Py, random,
    rows, text, text_or,
};

/// A pairing that waits for a person.
#[derive(Debug, Clone)]
pub struct Pairing {
    device_code: String,
    verifier: String,
    /// What the client shows.
    pub user_code: String,
    /// Where the person types it.
    pub verification_uri: String,
}

impl PublicClient {
    /// Starts a pairing. Any status but 201 is a failure.
    pub async fn start_login(&self, device_name: &str) -> Result<Pairing, Refusal> {
        let verifier = b64u(random::<32>());
        let name: String = device_name.chars().take(120).collect();
        let body = Py::dict([
            ("device_name", Py::from(name)),
            ("challenge", Py::from(digest(&verifier))),
            ("public_key", Py::from(self.public_key())),
        ]);
        let incoming = self.unsigned("/v1/devices/start", &body).await?;
        let answer = with_status(incoming, 201)?;
        let verification_uri = match answer.find("verification_uri_complete") {
            Some(found) => found.as_str().map(str::to_owned).ok_or(Refusal::NotAString("verification_uri_complete"))?,
            None => text(&answer, "verification_uri")?,
        };
        Ok(Pairing {
            device_code: text(&answer, "device_code")?,
            user_code: text(&answer, "user_code")?,
            verification_uri,
            verifier,
        })
    }

    /// Asks once for the tokens. 428 with the public word means: not yet; anything else but 200 ends the login.
    pub async fn poll_login(&mut self, pairing: &Pairing) -> Result<Profile, Refusal> {
        let body = Py::dict([
            ("device_code", Py::from(pairing.device_code.as_str())),
            ("verifier", Py::from(pairing.verifier.as_str())),
        ]);
        let incoming = self.unsigned("/v1/devices/token", &body).await?;
        if incoming.status == 428 {
            let failed = failure(&incoming);
            let pending = matches!(&failed, Refusal::Service { error, .. } if error == "authorization_pending");
            return Err(if pending { Refusal::AuthorizationPending } else { failed });
        }
        let answer = with_status(incoming, 200)?;
        let filled = |key: &'static str| {
            text(&answer, key).and_then(|value| if value.is_empty() { Err(Refusal::Empty(key)) } else { Ok(value) })
        };
        let profile = Profile {
            user_id: filled("user_id")?,
            workspace_id: filled("workspace_id")?,
            device_id: filled("device_id")?,
            access_token: filled("access_token")?,
            refresh_token: filled("refresh_token")?,
        };
        text_or(&answer, "device_name", "")?;
        if !is_id(&profile.device_id) {
            return Err(Refusal::BadId("device_id"));
        }
        self.profile = Some(profile.clone());
        Ok(profile)
    }

    /// The library's refresh, which no command calls: signed by the device, without bearer.
    pub async fn refresh(&mut self) -> Result<(), Refusal> {
        let body = Py::dict([("refresh_token", Py::from(self.profile()?.refresh_token.as_str()))]);
        let answer = self.signed("POST", "/v1/auth/refresh", Some(&body), None).await?;
        self.take_tokens(&answer)
    }

    /// Tokens for another workspace; the outbox and the cursors stay, the caches go.
    pub async fn select_workspace(&mut self, workspace_id: &str) -> Result<(), Refusal> {
        let body = Py::dict([("workspace_id", Py::from(workspace_id))]);
        let answer = self.call("POST", "/v1/workspaces/select", Some(&body)).await?;
        let selected = text_or(&answer, "workspace_id", workspace_id)?;
        self.take_tokens(&answer)?;
        self.connections.clear();
        self.credentials.clear();
        if let Some(profile) = &mut self.profile {
            profile.workspace_id = selected;
        }
        Ok(())
    }

    /// `(id, name, last_seen_at, revoked)` of each device.
    pub async fn devices(&self) -> Result<Vec<(String, String, i64, bool)>, Refusal> {
        let answer = self.call("GET", "/v1/devices", None).await?;
        rows(&answer, "devices")?
            .iter()
            .map(|row| {
                let seen = index(row, "last_seen_at")?.as_i64().ok_or(Refusal::NotAString("last_seen_at"))?;
                let revoked = row.find("revoked_at").is_some_and(Py::is_truthy);
                Ok((text(row, "id")?, text(row, "name")?, seen, revoked))
            })
            .collect()
    }

    /// Revokes a device of this person.
    pub async fn revoke_device(&self, device_id: &str) -> Result<(), Refusal> {
        let body = Py::dict([("device_id", Py::from(device_id))]);
        self.call("POST", "/v1/devices/revoke", Some(&body)).await.map(|_| ())
    }

    /// Revokes this device; its profile stays with the driver, so that a test can see the service refuse it.
    pub async fn logout(&self) -> Result<(), Refusal> {
        self.revoke_device(&self.profile()?.device_id).await
    }

    fn take_tokens(&mut self, answer: &Py) -> Result<(), Refusal> {
        // Missing ones would be stored as "" and 0, which locks the person out.
        let filled = |key: &'static str| {
            text(answer, key).and_then(|value| if value.is_empty() { Err(Refusal::Empty(key)) } else { Ok(value) })
        };
        let (access_token, refresh_token) = (filled("access_token")?, filled("refresh_token")?);
        for key in ["access_expires_at", "refresh_expires_at"] {
            index(answer, key)?.as_i64().filter(|at| *at > 0).ok_or(Refusal::Empty(key))?;
        }
        let profile = self.profile.as_mut().ok_or(Refusal::NotConnected)?;
        (profile.access_token, profile.refresh_token) = (access_token, refresh_token);
        Ok(())
    }
}

fn with_status(incoming: Incoming, expected: u16) -> Result<Py, Refusal> {
    if incoming.status == expected { object(incoming) } else { Err(failure(&incoming)) }
}
