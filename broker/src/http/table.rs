//! Handlers by route. What is mounted is `contract::routes::ROUTES` and nothing else: a handler without a route is never mounted, and a route without a handler fails the test below.

use super::{connections, devices, pages, probes, projects, refreshes, sessions, sync, workspaces};
use crate::app::App;
use axum::{
    handler::Handler,
    routing::{MethodFilter, MethodRouter, on},
};
use contract::routes::{Method, Route};

/// The handler of `route`.
pub(super) fn find_handler(route: &Route) -> Option<MethodRouter<App>> {
    match route.method {
        Method::Get => find_get(route.path),
        Method::Post => find_post(route.path),
    }
}

fn find_get(path: &str) -> Option<MethodRouter<App>> {
    Some(match path {
        "/healthz" => get(probes::healthz),
        "/readyz" => get(probes::readyz),
        "/version" => get(probes::version),
        "/" => get(pages::home::show),
        "/owner/{token}" => get(pages::owner::ask),
        "/pair" => get(pages::pair::ask),
        "/v1/whoami" => get(devices::whoami),
        "/v1/devices" => get(devices::list),
        "/v1/workspaces" => get(workspaces::list),
        "/v1/workspaces/{id}/members" => get(workspaces::list_members),
        "/v1/projects" => get(projects::list),
        "/v1/projects/{id}/members" => get(projects::list_members),
        "/v1/sync/pull" => get(sync::pull),
        "/v1/nodes" => get(sync::list_nodes),
        "/v1/missions" => get(sync::list_missions),
        "/v1/schedules" => get(sync::list_schedules),
        "/v1/connections" => get(connections::list),
        "/v1/connections/{id}/manifest" => get(connections::manifest),
        "/v1/connections/{id}/credential" => get(connections::credential),
        "/v1/connections/{id}/refresh" => get(refreshes::find),
        _ => return None,
    })
}

fn find_post(path: &str) -> Option<MethodRouter<App>> {
    Some(match path {
        "/owner/{token}" => post(pages::owner::open),
        "/pair" => post(pages::pair::show),
        "/pair/approve" => post(pages::pair::approve),
        "/pair/refuse" => post(pages::pair::refuse),
        "/sign-out" => post(pages::home::sign_out),
        "/v1/devices/start" => post(devices::start),
        "/v1/devices/token" => post(devices::token),
        "/v1/devices/pending" => post(devices::pending),
        "/v1/devices/approve" => post(devices::approve),
        "/v1/devices/revoke" => post(devices::revoke),
        "/v1/auth/refresh" => post(sessions::refresh),
        "/v1/workspaces/select" => post(sessions::select),
        "/v1/workspaces" => post(workspaces::create),
        "/v1/workspaces/{id}/members" => post(workspaces::add_member),
        "/v1/projects" => post(projects::create),
        "/v1/projects/{id}/members" => post(projects::add_member),
        "/v1/sync/push" => post(sync::push),
        "/v1/connections" => post(connections::create),
        "/v1/connections/{id}/review" => post(connections::review),
        "/v1/connections/{id}/credential" => post(connections::put_credential),
        "/v1/connections/drafts" => post(connections::create_draft),
        "/v1/connections/{id}/refresh/lease" => post(refreshes::lease),
        "/v1/connections/{id}/refresh/intent" => post(refreshes::intent),
        "/v1/connections/{id}/refresh/withdraw" => post(refreshes::withdraw),
        "/v1/connections/{id}/refresh/upload" => post(refreshes::upload),
        "/v1/connections/{id}/refresh/uncertain" => post(refreshes::uncertain),
        "/v1/connections/{id}/refresh/dead" => post(refreshes::dead),
        "/v1/connections/{id}/refresh/reconsent" => post(refreshes::reconsent),
        "/v1/connections/{id}/drift" => post(connections::drift),
        "/v1/connections/{id}/revoke" => post(connections::revoke),
        _ => return None,
    })
}

fn get<H: Handler<T, App>, T: 'static>(handler: H) -> MethodRouter<App> {
    on(MethodFilter::GET, handler)
}

fn post<H: Handler<T, App>, T: 'static>(handler: H) -> MethodRouter<App> {
    on(MethodFilter::POST, handler)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::routes::ROUTES;

    #[test]
    fn every_route_has_its_handler() {
        let missing: Vec<_> = ROUTES
            .iter()
            .filter(|route| find_handler(route).is_none())
            .map(|route| (route.method, route.path))
            .collect();
        assert_eq!(missing, []);
        let foreign = Route { path: "/v1/shell", ..ROUTES[0] };
        assert!(find_handler(&foreign).is_none());
    }
}
