//! How the demo ends: by itself, or at once when it is told to by Ctrl-C, a closed terminal or a service manager. No process and no folder outlives it.

use crate::processes::end_all;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};

/// What has to be undone, and the wish to stay.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    folder: Option<PathBuf>,
    told: bool,
    waits: bool,
}

/// What a shell shows for a program that Ctrl-C ended.
pub(super) const INTERRUPTED: u8 = 130;

impl Ending {
    /// Names the folder that has to be gone at the end.
    pub(super) fn owe(&self, folder: &Path) {
        self.with(|state| state.folder = Some(folder.to_owned()));
    }

    /// Stays up until somebody tells the demo to end.
    pub(super) fn wait(&self) {
        self.with(|state| state.waits = true);
        let guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_while(guard, |state| !state.told));
    }

    /// Whether the demo was told to end: what fails from then on fails for that.
    pub(super) fn is_told(&self) -> bool {
        self.with(|state| state.told)
    }

    /// Told to end. True when the story is over and only waits, so that it can end in its own order.
    fn tell(&self) -> bool {
        let waits = self.with(|state| {
            state.told = true;
            state.waits
        });
        self.0.1.notify_all();
        waits
    }

    fn undo(&self) {
        end_all();
        if let Some(folder) = self.with(|state| state.folder.take()) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs `body` to its end, or undoes everything when the process is told to end before.
pub(super) fn until_done_or_told(body: impl FnOnce(&Ending) -> ExitCode + Send + 'static) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => return ExitCode::FAILURE,
    };
    let ending = Ending::default();
    let ours = ending.clone();
    let code = runtime.block_on(async move {
        let mut story = tokio::task::spawn_blocking(move || {
            let code = body(&ours);
            ours.undo();
            code
        });
        tokio::select! {
            code = &mut story => code.unwrap_or(ExitCode::FAILURE),
            () = told() => {
                if ending.tell() {
                    return story.await.unwrap_or(ExitCode::FAILURE);
                }
                ending.undo();
                ExitCode::from(INTERRUPTED)
            }
        }
    });
    // A story that was interrupted may still sit in a wait; nothing it could do matters any more.
    runtime.shutdown_background();
    code
}

async fn told() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let Ok([mut interrupt, mut terminate, mut hangup]) = kinds
        .map(signal)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .and_then(|all| <[_; 3]>::try_from(all).map_err(|_| std::io::Error::other("three were asked for")))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
