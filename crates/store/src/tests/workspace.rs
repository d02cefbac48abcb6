//! Workspaces, projects and roles; ids that others chose neither block nor show.

use super::{
    Fixture, on_both_engines,
    world::{NOW, entry, make_person, project, user, viewer, workspace},
};
use crate::{Inserted, MemberChange, NewProject, Project, Store, StoreError, Viewer};
use contract::{ids::ProjectId, limits, workspace::Role};

async fn set(store: &Store, actor: &Viewer, n: u8, role: Role) -> Result<MemberChange, StoreError> {
    store
        .run("set", |mut tx| async move {
            let done = tx.set_member(actor, &user(n), role, NOW).await?;
            if done == MemberChange::Unchanged {
                return tx.commit_unchanged(done);
            }
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn remove(store: &Store, actor: &Viewer, n: u8) -> Result<Role, StoreError> {
    store
        .run("remove", |mut tx| async move {
            let done = tx.remove_member(actor, &user(n), NOW).await?;
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn make_project(
    store: &Store,
    actor: &Viewer,
    requested: Option<&ProjectId>,
    fresh: u8,
    name: &str,
) -> Result<Inserted<Project>, StoreError> {
    store
        .run("make_project", |mut tx| async move {
            let done = tx
                .insert_project(actor, NewProject { requested_id: requested, fresh_id: &project(fresh), name }, NOW)
                .await?;
            match done {
                Inserted::New(_) => tx.commit_with(entry(1), done).await,
                Inserted::Same(_) => tx.commit_unchanged(done),
            }
        })
        .await
}

async fn set_in_project(
    store: &Store,
    actor: &Viewer,
    id: &ProjectId,
    n: u8,
    role: Role,
) -> Result<MemberChange, StoreError> {
    store
        .run("set_in_project", |mut tx| async move {
            let done = tx.set_project_member(actor, id, &user(n), role, NOW).await?;
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn projects(store: &Store, viewer: &Viewer) -> Vec<(ProjectId, String, Role)> {
    let found: Result<Vec<_>, StoreError> =
        store.read("list", |mut tx| async move { tx.list_projects(viewer).await }).await;
    found.expect("reads").into_iter().map(|row| (row.id, row.name, row.role)).collect()
}

on_both_engines! {
    async fn members_and_roles(fixture: Fixture) {
        let store = &fixture.store;
        for n in 1..=4 {
            make_person(store, n).await;
        }
        let owner = &viewer(1, 1);
        assert_eq!(set(store, owner, 2, Role::Admin).await, Ok(MemberChange::Added));
        assert_eq!(set(store, owner, 2, Role::Admin).await, Ok(MemberChange::Unchanged));
        assert_eq!(set(store, owner, 9, Role::Member).await, Err(StoreError::NotVisible { what: "user" }));
        let admin = &viewer(1, 2);
        assert_eq!(set(store, admin, 3, Role::Admin).await, Err(StoreError::Outranked));
        assert_eq!(set(store, admin, 3, Role::Guest).await, Ok(MemberChange::Added));
        assert_eq!(set(store, admin, 3, Role::Member).await, Ok(MemberChange::Changed { from: Role::Guest }));
        assert_eq!(set(store, admin, 1, Role::Member).await, Err(StoreError::Outranked));
        assert_eq!(set(store, &viewer(1, 3), 4, Role::Guest).await, Err(StoreError::Outranked));
        assert_eq!(set(store, &viewer(1, 4), 4, Role::Owner).await, Err(StoreError::NotVisible { what: "workspace" }), "not a member");
        assert_eq!(set(store, &viewer(8, 4), 4, Role::Owner).await, Err(StoreError::NotVisible { what: "workspace" }), "no workspace");

        let listed: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_members(&viewer(1, 3)).await }).await;
        let listed: Vec<_> = listed.expect("reads").into_iter().map(|member| (member.user_id, member.role)).collect();
        assert_eq!(listed, [(user(1), Role::Owner), (user(2), Role::Admin), (user(3), Role::Member)]);
        let seen: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_workspaces(&user(2)).await }).await;
        let seen: Vec<_> = seen.expect("reads").into_iter().map(|row| (row.id, row.role)).collect();
        assert_eq!(seen, [(workspace(1), Role::Admin), (workspace(2), Role::Owner)]);
    }

    async fn the_last_owner_stays(fixture: Fixture) {
        let store = &fixture.store;
        for n in 1..=3 {
            make_person(store, n).await;
        }
        let owner = &viewer(1, 1);
        assert_eq!(remove(store, owner, 1).await, Err(StoreError::LastOwner));
        assert_eq!(set(store, owner, 1, Role::Member).await, Err(StoreError::Outranked), "nobody steps down by a slip");
        set(store, owner, 2, Role::Owner).await.expect("a second owner");
        assert_eq!(remove(store, owner, 1).await, Ok(Role::Owner));
        assert_eq!(remove(store, &viewer(1, 2), 2).await, Err(StoreError::LastOwner));
        assert_eq!(remove(store, &viewer(1, 2), 3).await, Err(StoreError::NotVisible { what: "member" }));
        set(store, &viewer(1, 2), 3, Role::Member).await.expect("joins");
        assert_eq!(remove(store, &viewer(1, 3), 2).await, Err(StoreError::Outranked));
        assert_eq!(remove(store, &viewer(1, 3), 3).await, Ok(Role::Member), "everybody may leave");
    }

    async fn a_requested_project_id_is_idempotent(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let owner = &viewer(1, 1);
        let wanted = &ProjectId::parse("my:project-1").expect("an id");
        let made = make_project(store, owner, Some(wanted), 50, "Garden").await.expect("made");
        assert!(matches!(&made, Inserted::New(row) if row.id == *wanted && row.role == Role::Owner));
        let again = make_project(store, owner, Some(wanted), 51, "Garden").await.expect("found");
        assert_eq!(again, Inserted::Same(made.into_value()));
        let other = make_project(store, owner, Some(wanted), 52, "House").await;
        assert_eq!(other, Err(StoreError::AlreadyThere { what: "project" }));
        let plain = make_project(store, owner, None, 53, "House").await.expect("made").into_value();
        assert_eq!(plain.id, project(53));
        assert_eq!(projects(store, owner).await.len(), 2);
    }

    /// Two tenants, and two strangers in one tenant: who takes an id first neither blocks nor shows anything to the other.
    async fn project_ids_cannot_be_squatted(fixture: Fixture) {
        let store = &fixture.store;
        for n in 1..=3 {
            make_person(store, n).await;
        }
        set(store, &viewer(1, 1), 3, Role::Member).await.expect("joins");
        let wanted = &ProjectId::parse("project-x").expect("an id");
        let squatter = make_project(store, &viewer(2, 2), Some(wanted), 50, "Squatter").await.expect("made").into_value();
        assert_eq!(squatter.id, *wanted);
        let victim = make_project(store, &viewer(1, 1), Some(wanted), 51, "Victim").await.expect("made").into_value();
        assert_eq!(victim.id, *wanted, "another tenant's id is free here");

        let stranger = make_project(store, &viewer(1, 3), Some(wanted), 52, "Stranger").await.expect("made").into_value();
        assert_eq!(stranger.id, project(52), "an id of somebody else's unseen project gives a fresh one");
        let again = make_project(store, &viewer(1, 3), Some(wanted), 53, "Stranger").await.expect("found");
        assert_eq!(again, Inserted::Same(stranger), "and stays idempotent");

        assert_eq!(projects(store, &viewer(1, 1)).await, [(wanted.clone(), "Victim".to_owned(), Role::Owner)]);
        assert_eq!(projects(store, &viewer(1, 3)).await, [(project(52), "Stranger".to_owned(), Role::Owner)]);
        for (viewer, id) in [(viewer(1, 3), wanted), (viewer(1, 1), &project(52)), (viewer(2, 2), &project(52)), (viewer(1, 2), wanted)] {
            let found = store.read("find", |mut tx| { let viewer = &viewer; async move { tx.find_project(viewer, id).await } }).await;
            assert_eq!(found, Ok::<_, StoreError>(None), "{viewer:?} {id}");
        }
    }

    async fn project_members_are_members_of_the_workspace(fixture: Fixture) {
        let store = &fixture.store;
        for n in 1..=3 {
            make_person(store, n).await;
        }
        let owner = &viewer(1, 1);
        let id = &make_project(store, owner, None, 50, "Garden").await.expect("made").into_value().id;
        let not_visible = Err(StoreError::NotVisible { what: "member" });
        assert_eq!(set_in_project(store, owner, id, 2, Role::Member).await, not_visible);
        set(store, owner, 2, Role::Member).await.expect("joins");
        assert_eq!(set_in_project(store, owner, id, 2, Role::Member).await, Ok(MemberChange::Added));
        assert_eq!(set_in_project(store, owner, id, 2, Role::Guest).await, Ok(MemberChange::Changed { from: Role::Member }));
        assert_eq!(set_in_project(store, &viewer(1, 2), id, 1, Role::Guest).await, Err(StoreError::Outranked));
        assert_eq!(set_in_project(store, &viewer(3, 3), id, 3, Role::Owner).await, Err(StoreError::NotVisible { what: "project" }));
        assert_eq!(projects(store, &viewer(1, 2)).await, [(id.clone(), "Garden".to_owned(), Role::Guest)]);

        remove(store, owner, 2).await.expect("removed");
        let listed: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_project_members(owner, id).await }).await;
        assert_eq!(listed.expect("reads").len(), 1, "who leaves the workspace leaves its projects");
    }

    async fn projects_are_bounded(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let numbers = match &fixture.config {
            crate::StoreConfig::Sqlite { .. } => "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i FROM n",
            crate::StoreConfig::Postgres { .. } => "SELECT i FROM generate_series(1, 500) i",
        };
        let (home, owner) = (workspace(1), user(1));
        crate::tests::shape::raw(&fixture.config, &format!(
            "INSERT INTO project (workspace_id, id, name, created_by, created_at_ms, updated_at_ms) \
             SELECT '{home}', 'p' || i, 'n', '{owner}', 0, 0 FROM ({numbers}) AS numbers"
        )).await;
        let full = Err(StoreError::Full { what: "projects", max: limits::PROJECTS_PER_WORKSPACE_MAX });
        assert_eq!(make_project(store, &viewer(1, 1), None, 50, "One more").await, full);
    }
}
