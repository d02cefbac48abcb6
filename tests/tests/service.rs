//! What the service promises about connections: signed reviews land whole or not at all, credentials follow one another, and nobody reaches what is not theirs.

#[path = "service/drafts.rs"]
mod drafts;
#[path = "service/isolation.rs"]
mod isolation;
#[path = "service/refresh.rs"]
mod refresh;
#[path = "service/refresh_machine.rs"]
mod refresh_machine;
#[path = "service/review_parts.rs"]
mod review_parts;
#[path = "service/signed.rs"]
mod signed;
#[path = "service/steps.rs"]
mod steps;
