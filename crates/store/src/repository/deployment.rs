//! The installation itself and its people. A user here is a name for memberships and devices; it proves nothing.

use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::ids::{DeploymentId, UserId};

statements! {
    Read "deployment" FIND_DEPLOYMENT = "SELECT id, owner_id, created_at_ms FROM deployment";
    Write "deployment" INSERT_DEPLOYMENT =
        "INSERT INTO deployment (id, only_one, owner_id, created_at_ms) VALUES ($1, 1, $2, $3) ON CONFLICT DO NOTHING";
    Read "user" FIND_USER = r#"SELECT id, display_name, created_at_ms FROM "user" WHERE id = $1"#;
    Write "user" INSERT_USER = r#"INSERT INTO "user" (id, display_name, created_at_ms) VALUES ($1, $2, $3)"#;
}

/// The one installation this database belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// Its id, CTX tag 01.
    pub id: DeploymentId,
    /// The person that the first start made.
    pub owner_id: UserId,
    /// Unix milliseconds.
    pub created_at_ms: i64,
}

/// A person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Id.
    pub id: UserId,
    /// For display only.
    pub display_name: String,
    /// Unix milliseconds.
    pub created_at_ms: i64,
}

impl ReadTx {
    /// The installation, once the first start has made it.
    pub async fn find_deployment(&mut self) -> Result<Option<Deployment>, StoreError> {
        self.find(&FIND_DEPLOYMENT, bind![]).await?.map(|row| Deployment::try_from(&row)).transpose()
    }

    /// A person by id.
    pub async fn find_user(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        self.find(&FIND_USER, bind![id]).await?.map(|row| User::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Makes the installation; a second one is [`StoreError::AlreadyThere`].
    pub async fn insert_deployment(
        &mut self,
        id: &DeploymentId,
        owner_id: &UserId,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        match self.execute(&INSERT_DEPLOYMENT, bind![id, owner_id, now_ms]).await? {
            1 => Ok(()),
            _ => Err(StoreError::AlreadyThere { what: "deployment" }),
        }
    }

    /// Makes a person. The id is fresh.
    pub async fn insert_user(&mut self, id: &UserId, display_name: &str, now_ms: i64) -> Result<(), StoreError> {
        self.execute_one(&INSERT_USER, bind![id, display_name, now_ms]).await
    }
}

impl TryFrom<&Row> for Deployment {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self { id: row.id("id")?, owner_id: row.id("owner_id")?, created_at_ms: row.int("created_at_ms")? })
    }
}

impl TryFrom<&Row> for User {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            display_name: row.text("display_name")?,
            created_at_ms: row.int("created_at_ms")?,
        })
    }
}
