//! Who may change whose role: the actor's rank against the member's present rank and the new one. Pure; the caller reads both in the transaction that writes.

use crate::error::StoreError;
use contract::workspace::Role;

/// One change of one member, as it stands before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoleChange {
    /// The actor's role.
    pub(crate) actor: Role,
    /// Whether the actor changes themselves.
    pub(crate) own: bool,
    /// The member's role now, if they are one.
    pub(crate) present: Option<Role>,
    /// The role after; `None` removes.
    pub(crate) next: Option<Role>,
}

impl RoleChange {
    /// Refuses what the role does not allow. The last-owner rule is separate, because it needs the count.
    pub(crate) fn check(self) -> Result<(), StoreError> {
        let leaves = self.own && self.next.is_none();
        let reaches = |role: Role| match (self.actor, role) {
            (Role::Owner, _) | (Role::Admin, Role::Member | Role::Guest) => true,
            (Role::Admin, Role::Owner | Role::Admin) | (Role::Member | Role::Guest, _) => false,
        };
        // An owner's role is changed by another owner, so that nobody steps down by a slip.
        let own_ownership = self.own && self.present == Some(Role::Owner);
        let allowed = leaves || (!own_ownership && self.present.is_none_or(reaches) && self.next.is_none_or(reaches));
        if allowed { Ok(()) } else { Err(StoreError::Outranked) }
    }

    /// Whether an owner is lost by it.
    pub(crate) fn loses_owner(self) -> bool {
        self.present == Some(Role::Owner) && self.next != Some(Role::Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule written the other way round: who may do what, spelled out row by row.
    fn table(actor: Role, own: bool, present: Option<Role>, next: Option<Role>) -> bool {
        use Role::{Admin, Guest, Member, Owner};
        if own {
            return next.is_none();
        }
        match actor {
            Owner => true,
            Admin => !matches!(present, Some(Owner | Admin)) && !matches!(next, Some(Owner | Admin)),
            Member | Guest => false,
        }
    }

    #[test]
    fn every_combination_is_decided() {
        let roles = || Role::ALL.iter().copied().map(Some).chain([None]);
        for actor in Role::ALL.iter().copied() {
            let changes = roles().flat_map(|present| roles().map(move |next| (present, next)));
            // Who is no member cannot be removed; the caller finds nobody before this rule is asked.
            for (present, next) in changes.filter(|change| *change != (None, None)) {
                let other = RoleChange { actor, own: false, present, next };
                assert_eq!(other.check().is_ok(), table(actor, false, present, next), "{other:?}");
                let own = RoleChange { actor, own: true, present: Some(actor), next };
                assert_eq!(own.check().is_ok(), table(actor, true, Some(actor), next), "{own:?}");
            }
        }
    }
}
