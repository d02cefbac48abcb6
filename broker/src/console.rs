//! The pages of the service as text: rendered here, without scripts, without anything from elsewhere, with every foreign text escaped. Knows no request and no database.

mod markup;
mod views;

pub(crate) use markup::{Markup, policy};
pub(crate) use views::{
    DecisionMade, devices, message, owner_ask, pair_ask, pair_confirm, pair_done, signed_in, signed_out,
};
