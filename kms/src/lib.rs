//! Key encryption keys and who may hold them (2.a.4): the provider's interface, the key file, and the closed list of keys that one installation accepts. Never tries a key that its record does not name, and never looks for one.

mod error;
mod key_file;
mod name;
mod placement;
mod provider;
mod record;
mod ring;
mod self_test;

pub use error::{KekError, KeyFileError};
pub use key_file::{KeyFileProvider, make_key_file};
pub use name::{KekFullName, NameError};
pub use placement::{KekBesideDatabase, Placement, Surroundings, check_placement};
pub use provider::{Assurance, Descriptor, KekFuture, KekProvider, ProviderKind};
pub use record::{KekRecord, RecordError};
pub use ring::{KekRing, ListedKek, RingError, Standing};
pub use self_test::{KnownAnswerError, known_answer_test};
