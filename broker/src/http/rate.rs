//! How often a network or a device may call. Keys are the client's network or the verified device; no header of a stranger is one.

use super::{caller::Caller, error::ApiError};
use crate::client_address::Network;
use axum::{body::Body, response::IntoResponse as _};
use contract::{
    Code, limits,
    routes::{Access, Route},
};
use governor::middleware::NoOpMiddleware;
use http::Request;
use std::{hash::Hash, sync::Arc, time::Duration};
use tower_governor::{
    GovernorError, GovernorLayer,
    governor::{GovernorConfig, GovernorConfigBuilder},
    key_extractor::KeyExtractor,
};

/// A limiter of one kind of caller.
type Config<K> = Arc<GovernorConfig<K, NoOpMiddleware>>;
/// The layer that asks it.
pub(super) type Layer<K> = GovernorLayer<K, NoOpMiddleware, Body>;

/// Every limiter of one service.
#[derive(Clone)]
pub(crate) struct Limiters {
    network: Config<ByNetwork>,
    public: Config<ByNetwork>,
    pairing: Config<ByNetwork>,
    pages: Config<ByNetwork>,
    device: Config<ByDevice>,
}

/// By the network the request comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByNetwork;

impl KeyExtractor for ByNetwork {
    type Key = Network;

    fn extract<T>(&self, request: &Request<T>) -> Result<Network, GovernorError> {
        request.extensions().get().copied().ok_or(GovernorError::UnableToExtractKey)
    }
}

/// By the device whose signature was verified.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByDevice;

impl KeyExtractor for ByDevice {
    type Key = contract::ids::DeviceId;

    fn extract<T>(&self, request: &Request<T>) -> Result<Self::Key, GovernorError> {
        request
            .extensions()
            .get::<Caller>()
            .map(|caller| caller.device_id.clone())
            .ok_or(GovernorError::UnableToExtractKey)
    }
}

impl Limiters {
    pub(crate) fn new() -> Self {
        Self {
            network: config(ByNetwork, limits::RATE_NETWORK_BURST, Duration::from_millis(20)),
            public: config(ByNetwork, limits::RATE_PUBLIC_BURST, Duration::from_millis(500)),
            pairing: config(ByNetwork, limits::RATE_PAIRING_BURST, Duration::from_secs(5)),
            pages: config(ByNetwork, limits::RATE_PAGES_BURST, Duration::from_secs(1)),
            device: config(ByDevice, limits::RATE_DEVICE_BURST, Duration::from_millis(20)),
        }
    }

    /// For every request, whoever it is.
    pub(super) fn network(&self) -> Layer<ByNetwork> {
        layer(&self.network)
    }

    /// For requests whose device is verified.
    pub(super) fn device(&self) -> Layer<ByDevice> {
        layer(&self.device)
    }

    /// For a route that anybody may call; none where a session comes first.
    pub(super) fn find_public(&self, route: &Route) -> Option<Layer<ByNetwork>> {
        match (route.access, route.path) {
            (Access::Public, "/v1/devices/start") => Some(layer(&self.pairing)),
            (Access::Public | Access::Refresh, _) => Some(layer(&self.public)),
            (Access::OwnerLink | Access::Browser, _) => Some(layer(&self.pages)),
            (Access::Device, _) => None,
        }
    }

    /// Forgets keys that are as good as new, so that memory follows the callers of the last minutes.
    pub(crate) fn forget_idle(&self) {
        for limiter in [&self.network, &self.public, &self.pairing, &self.pages] {
            limiter.limiter().retain_recent();
            limiter.limiter().shrink_to_fit();
        }
        self.device.limiter().retain_recent();
        self.device.limiter().shrink_to_fit();
    }
}

fn config<K: KeyExtractor>(key: K, burst: u32, period: Duration) -> Config<K>
where
    K::Key: Hash,
{
    let built = GovernorConfigBuilder::default().period(period).burst_size(burst).key_extractor(key).finish();
    Arc::new(built.expect("burst and period are limits above zero"))
}

fn layer<K: KeyExtractor>(config: &Config<K>) -> Layer<K> {
    GovernorLayer::new(Arc::clone(config)).error_handler(|error| refusal(error).into_response())
}

fn refusal(error: GovernorError) -> ApiError {
    match error {
        GovernorError::TooManyRequests { wait_time, .. } => {
            ApiError::new(Code::RateLimited, "too many requests; wait a moment")
                .retry_after(wait_time.saturating_add(1))
        }
        GovernorError::UnableToExtractKey | GovernorError::Other { .. } => ApiError::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::routes::ROUTES;

    #[test]
    fn every_route_without_a_session_is_limited() {
        let limiters = Limiters::new();
        for route in ROUTES {
            assert_eq!(limiters.find_public(route).is_some(), route.access != Access::Device, "{}", route.path);
        }
    }
}
