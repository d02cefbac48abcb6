//! Clients, grants, codes and tokens of one authorization server. Never forgets a token, so that a reused one is known.

use super::client::Client;
use crate::limits;
use crate::state::make_token;
use std::collections::{BTreeMap, BTreeSet};

/// What one server remembers.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) clients: BTreeMap<String, Client>,
    pub(crate) codes: BTreeMap<String, Code>,
    pub(crate) refresh: BTreeMap<String, Refresh>,
    pub(crate) access: BTreeMap<String, Access>,
    pub(crate) devices: BTreeMap<String, Device>,
    pub(crate) pages: BTreeMap<String, Asked>,
    pub(crate) assertions: BTreeSet<String>,
    pub(crate) registrations: u32,
    families: Vec<Family>,
    /// Number of a client's grant.
    grants: BTreeMap<String, usize>,
    grants_made: usize,
}

/// A valid authorization request.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) challenge: String,
    pub(crate) resource: String,
    pub(crate) scope: Vec<String>,
    pub(crate) offline: bool,
}

/// An authorization code.
pub(crate) struct Code {
    pub(crate) asked: Asked,
    pub(crate) expires_at_s: u64,
    /// The family it became.
    pub(crate) family: Option<usize>,
}

/// All tokens that come from one code or device.
pub(crate) struct Family {
    /// `g1.f2`: number of the client's grant, number of the family.
    pub(crate) name: String,
    pub(crate) client_id: String,
    pub(crate) resource: String,
    pub(crate) scope: Vec<String>,
    pub(crate) offline: bool,
    pub(crate) ended: bool,
    /// Access tokens of an ended family may live on.
    pub(crate) access_ended: bool,
}

/// One refresh token.
pub(crate) struct Refresh {
    pub(crate) family: usize,
    pub(crate) used: bool,
    pub(crate) revoked: bool,
}

/// One access token.
pub(crate) struct Access {
    pub(crate) family: usize,
    pub(crate) audience: String,
    pub(crate) scope: Vec<String>,
    pub(crate) expires_at_s: u64,
    pub(crate) revoked: bool,
}

/// One device flow.
pub(crate) struct Device {
    pub(crate) client_id: String,
    pub(crate) resource: String,
    pub(crate) scope: Vec<String>,
    pub(crate) offline: bool,
    pub(crate) expires_at_s: u64,
    pub(crate) polls: u32,
    pub(crate) family: Option<usize>,
}

impl Ledger {
    /// Whether there is no room for another token.
    pub(crate) fn is_full(&self) -> bool {
        let entries = self.clients.len() + self.codes.len() + self.refresh.len() + self.access.len();
        entries + self.devices.len() + self.pages.len() + self.assertions.len() >= limits::OAUTH_ENTRIES_MAX
    }

    pub(crate) fn family(&self, family: usize) -> Option<&Family> {
        self.families.get(family)
    }

    pub(crate) fn name_of(&self, family: usize) -> Option<String> {
        self.family(family).map(|family| family.name.clone())
    }

    /// Begins a family under the client's grant.
    pub(crate) fn begin(&mut self, client_id: &str, resource: &str, scope: &[String], offline: bool) -> usize {
        let made = &mut self.grants_made;
        let grant = *self.grants.entry(client_id.to_owned()).or_insert_with(|| {
            *made += 1;
            *made
        });
        let number = self.families.len();
        self.families.push(Family {
            name: format!("g{grant}.f{}", number + 1),
            client_id: client_id.to_owned(),
            resource: resource.to_owned(),
            scope: scope.to_vec(),
            offline,
            ended: false,
            access_ended: false,
        });
        number
    }

    pub(crate) fn make_access(&mut self, access: Access) -> String {
        let token = format!("labat_{}", make_token());
        self.access.insert(token.clone(), access);
        token
    }

    pub(crate) fn make_refresh(&mut self, family: usize) -> String {
        let token = format!("labrt_{}", make_token());
        self.refresh.insert(token.clone(), Refresh { family, used: false, revoked: false });
        token
    }

    pub(crate) fn make_code(&mut self, asked: Asked, expires_at_s: u64) -> String {
        let code = format!("labcode_{}", make_token());
        self.codes.insert(code.clone(), Code { asked, expires_at_s, family: None });
        code
    }

    /// Ends one family; with `access` its access tokens too.
    pub(crate) fn end_family(&mut self, family: usize, access: Reach) {
        if let Some(family) = self.families.get_mut(family) {
            family.ended = true;
            family.access_ended |= access == Reach::AccessToo;
        }
    }

    /// Ends every family of the client that `family` belongs to.
    pub(crate) fn end_grant(&mut self, family: usize, access: Reach) {
        let Some(client_id) = self.family(family).map(|family| family.client_id.clone()) else { return };
        for number in 0..self.families.len() {
            if self.families.get(number).is_some_and(|known| known.client_id == client_id) {
                self.end_family(number, access);
            }
        }
        // The next consent is a new grant.
        self.grants.remove(&client_id);
    }

    /// Every access token is too old from now on.
    pub(crate) fn expire_access(&mut self) {
        for access in self.access.values_mut() {
            access.expires_at_s = 0;
        }
    }

    /// Ends everything, as if the person had taken all consents back.
    pub(crate) fn end_all(&mut self) {
        for family in &mut self.families {
            (family.ended, family.access_ended) = (true, true);
        }
    }

    /// Whether a text carries something that must not be in it.
    pub(crate) fn is_secret_in(&self, text: &str) -> bool {
        let tokens = self.codes.keys().chain(self.refresh.keys()).chain(self.access.keys()).chain(self.devices.keys());
        let secrets = self.clients.values().flat_map(|client| client.secret.iter().chain(&client.management));
        tokens.chain(secrets).any(|secret| text.contains(secret.as_str()))
    }
}

/// What ending a family reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Refresh tokens only.
    RefreshOnly,
    /// Access tokens that are out, too.
    AccessToo,
}
