//! The demo: the product's story on real processes, told chapter by chapter with what each command said. Prints no secret, leaves nothing behind.

mod chapters;
mod ending;
mod flags;
mod report;
mod say;
mod stored;
mod target;
mod teller;
mod world;

use clap::Parser as _;
use flags::Flags;
use std::process::ExitCode;
use teller::Teller;
use world::World;

/// Runs the demo as its own command line says.
#[must_use]
pub fn run() -> ExitCode {
    let flags = Flags::parse();
    ending::until_done_or_told(move |ending| {
        let mut teller = Teller::new(say::Say::new(flags.json, flags.dev));
        match tell(&flags, &mut teller, ending) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) if ending.is_told() => ExitCode::from(ending::INTERRUPTED),
            Err(trouble) => {
                teller.fail(&trouble);
                ExitCode::FAILURE
            }
        }
    })
}

/// The story, in its order.
fn tell(flags: &Flags, teller: &mut Teller, ending: &ending::Ending) -> Result<(), crate::trouble::Trouble> {
    let mut world = World::prepare(flags, ending)?;
    teller.begin(&world);
    chapters::start(&mut world, teller)?;
    chapters::sign_in(&mut world, teller)?;
    chapters::pair(&mut world, teller)?;
    chapters::share(&mut world, teller)?;
    chapters::bring_the_key(&mut world, teller)?;
    if flags.dev {
        teller.show_what_next(&world);
        ending.wait();
        return world.end();
    }
    chapters::read(&mut world, teller)?;
    chapters::commit(&mut world, teller)?;
    chapters::look_at_the_service(&mut world, teller)?;
    chapters::change(&mut world, teller)?;
    chapters::review_again(&mut world, teller)?;
    chapters::revoke(&mut world, teller)?;
    teller.finish(&world)?;
    if !flags.once && !flags.json {
        teller.show_what_next(&world);
        ending.wait();
    }
    world.end()
}
