//! Reading a server's whole manifest from bytes: instructions and every page of tools. Never takes a list that does not end, names a tool twice, or holds the credential.

use crate::error::UpstreamError;
use crate::exchange::Heading;
use crate::rpc;
use crate::session::Upstream;
use contract::manifest::RawManifest;
use contract::review::Era;
use contract::{Json, limits};
use std::collections::BTreeSet;

/// A manifest as a server has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Everything the server controls that a model or person will see.
    pub manifest: RawManifest,
    /// The era it was read in; another than the review's is another review.
    pub era: Era,
}

impl Upstream {
    /// Reads the manifest: a fresh greeting, then all pages.
    ///
    /// Reports the era that the server speaks now, also when another was expected; then [`Upstream::call_tool`]
    /// refuses until there is a review in that era.
    pub async fn fetch_manifest(&mut self) -> Result<Fetched, UpstreamError> {
        let greeting = self.greet().await?;
        let tools = self.list_tools(greeting.era).await?;
        let manifest = RawManifest::from_tools(&greeting.instructions, tools)?;
        let (_, held_credential) = self.link.redactor.json(manifest.to_json());
        if held_credential {
            return Err(UpstreamError::CredentialInManifest);
        }
        Ok(Fetched { manifest, era: greeting.era })
    }

    async fn list_tools(&mut self, era: Era) -> Result<Vec<Json>, UpstreamError> {
        let mut tools = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut cursor = None;
        let mut bytes = 0;
        for _ in 0..limits::MANIFEST_PAGES_MAX {
            let page = self.list_page(era, cursor.as_deref()).await?;
            bytes += page.canonical().len();
            let Some(Json::Array(listed)) = page.find("tools") else {
                return Err(UpstreamError::malformed("a page without a list of tools"));
            };
            tools.extend(listed.iter().cloned());
            if tools.len() > limits::MANIFEST_TOOLS_MAX {
                return Err(contract::manifest::ManifestError::TooManyTools { max: limits::MANIFEST_TOOLS_MAX }.into());
            }
            if bytes > limits::UPSTREAM_BYTES_MAX {
                return Err(UpstreamError::EndlessList { what: "too many bytes" });
            }
            cursor = match page.find("nextCursor") {
                None | Some(Json::Null) => return Ok(tools),
                Some(Json::String(next)) if next.len() <= limits::UPSTREAM_CURSOR_BYTES_MAX => Some(next.clone()),
                Some(_) => return Err(UpstreamError::malformed("an unusable cursor")),
            };
            if cursor.as_ref().is_some_and(|next| !cursors.insert(next.clone())) {
                return Err(UpstreamError::EndlessList { what: "a cursor leads back to itself" });
            }
        }
        Err(UpstreamError::EndlessList { what: "too many pages" })
    }

    async fn list_page(&mut self, era: Era, cursor: Option<&str>) -> Result<Json, UpstreamError> {
        let method = "tools/list";
        let mut params = Json::object();
        if let Json::Object(members) = &mut params {
            members.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
            if era == Era::Stateless {
                members.insert("_meta".to_owned(), rpc::stateless_meta());
            }
        }
        let page =
            self.ask(era, method, params, Heading::stateless(method, None)).await.map_err(|failure| failure.error)?;
        match page.find("resultType") {
            Some(kind) if era == Era::Stateless && kind.as_str() != Some("complete") => {
                Err(UpstreamError::malformed("a page that is not complete"))
            }
            Some(_) | None => Ok(page),
        }
    }
}
