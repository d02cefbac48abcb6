//! Rotation of session tokens (2.e): one process at a time, against what stands on disk then. A lost answer is asked for again with the same token, which gives the same successor.

use super::{Api, decode, secret_body};
use crate::error::CliError;
use crate::state::session::Session;
use contract::Digest;
use contract::session::{SelectWorkspace, Tokens, WorkspaceSelected};
use egress::{Method, Request};

/// Rotates this many seconds before the end, so that a request does not meet it on the way.
const MARGIN_S: u64 = 30;

impl Api {
    /// Makes sure that there is a session whose access token is not over, and names its tokens.
    pub(super) async fn ready_session(&self) -> Result<Digest, CliError> {
        let Some((name, is_over)) = self.look()? else {
            self.select_workspace().await?;
            return self.look()?.map(|(name, _)| name).ok_or_else(CliError::not_connected);
        };
        if !is_over {
            return Ok(name);
        }
        self.rotate(&name).await?;
        self.look()?.map(|(name, _)| name).ok_or_else(CliError::not_connected)
    }

    /// Exchanges the refresh token, unless another process has done so since `used` was read.
    pub(super) async fn rotate(&self, used: &Digest) -> Result<(), CliError> {
        let lock = self.folder.lock_tokens().await?;
        let Some(request) = self.refresh_request(used)? else { return Ok(()) };
        let answer = self.way.exchange(request).await?;
        if !answer.is_success() {
            return Err(self.refusal(answer).await);
        }
        let tokens: Tokens = decode(&answer)?;
        self.folder.store_session(&self.workspace, &Session::new(tokens)?)?;
        drop(lock);
        Ok(())
    }

    /// Opens a session in another workspace than the one signed in to.
    async fn select_workspace(&self) -> Result<(), CliError> {
        if self.workspace == self.profile.workspace_id {
            return Err(CliError::not_connected());
        }
        let home = Self {
            way: self.way.clone(),
            door: self.door,
            folder: self.folder.clone(),
            profile: self.profile.clone(),
            workspace: self.profile.workspace_id.clone(),
        };
        let body = SelectWorkspace { workspace_id: self.workspace.clone() };
        let selected: WorkspaceSelected = Box::pin(home.post("/v1/workspaces/select", &body)).await?;
        self.folder.store_session(&self.workspace, &Session::new(selected.tokens)?)
    }

    /// Name of the tokens on disk, and whether the access token is over by this device's clock.
    fn look(&self) -> Result<Option<(Digest, bool)>, CliError> {
        let session = self.folder.find_session(&self.workspace)?;
        let now_s = self.door.now_s();
        Ok(session.map(|session| (session.name(), session.access_expires_at <= now_s.saturating_add(MARGIN_S))))
    }

    fn refresh_request(&self, used: &Digest) -> Result<Option<Request>, CliError> {
        let session = self.folder.find_session(&self.workspace)?.ok_or_else(CliError::not_connected)?;
        if session.name() != *used {
            return Ok(None);
        }
        let body = secret_body("refresh_token", &session.refresh);
        let request = self.signed(&Method::POST, "/v1/auth/refresh", &body)?;
        Ok(Some(request.secret_body(body)))
    }
}
