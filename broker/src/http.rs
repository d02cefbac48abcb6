//! The service's HTTP face: parse, call one operation, answer. Decides nothing itself, and mounts nothing that is not in `contract::routes`.

pub(crate) mod answer;
mod body;
pub(crate) mod caller;
mod connections;
mod devices;
mod edge;
pub(crate) mod error;
pub(crate) mod gate;
mod pages;
mod path;
mod probes;
mod projects;
mod rate;
mod refreshes;
mod sessions;
mod sync;
mod table;
mod target;
mod workspaces;

pub(crate) use edge::Peer;
pub(crate) use rate::Limiters;

use crate::app::App;
use axum::{
    Router, middleware,
    response::{IntoResponse as _, Response},
};
use contract::{
    Code,
    routes::{Access, ROUTES},
};
use error::ApiError;

/// Every route of the contract behind its gate and its limits.
pub(crate) fn router(app: &App, limiters: &Limiters) -> Router {
    let mounted = ROUTES.iter().filter_map(|route| Some((route, table::find_handler(route)?)));
    let routes = mounted.fold(Router::new(), |router, (route, handler)| {
        let gate = middleware::from_fn_with_state((app.clone(), route), gate::pass);
        let gated = match (route.access, limiters.find_public(route)) {
            // A device is limited by its verified id, so its limiter stands behind the gate; everybody else by network, in front.
            (Access::Device, _) | (_, None) => handler.route_layer(limiters.device()).route_layer(gate),
            (_, Some(public)) => handler.route_layer(gate).route_layer(public),
        };
        router.route(route.path, gated)
    });
    routes
        .fallback(unknown_route)
        .method_not_allowed_fallback(other_method)
        .layer(limiters.network())
        .layer(middleware::from_fn_with_state(app.clone(), edge::pass))
        .with_state(app.clone())
}

/// The answer of a request whose operation panicked; the panic hook has logged where.
pub(crate) fn failure() -> Response {
    ApiError::new(Code::Internal, "the service failed").into_response()
}

async fn unknown_route() -> ApiError {
    ApiError::not_found("route")
}

async fn other_method() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "this route has no such method")
}
