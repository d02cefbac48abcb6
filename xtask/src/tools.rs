//! What the machine lacks: installed with the system's package manager, and said. Never asks for a password.

use std::process::{Command, Stdio};

use crate::process::{Trouble, run, which};
use crate::say;

/// Installs Debian packages as root, or says what a person has to install.
pub(crate) fn apt_install(packages: &[&str], why: &str) -> Result<(), Trouble> {
    let by_hand = format!("install {why} yourself (Debian and Ubuntu: `apt-get install {}`)", packages.join(" "));
    if which("apt-get").is_none() {
        return Err(Trouble::new(format!("{why} is missing and this system has no apt-get"), by_hand));
    }
    if !is_root() {
        return Err(Trouble::new(format!("{why} is missing and only root may install it"), by_hand));
    }
    say::note(&format!("{why} is missing: installing {} with apt-get", packages.join(" ")));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        run(command.stdout(Stdio::null()), None)
    };
    apt(&["update"])?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    apt(&install).map_err(|trouble| Trouble::new(trouble.what, by_hand))?;
    say::note(&format!("installed {}", packages.join(" ")));
    Ok(())
}

/// Whether we are root, as `id` says.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// User and group number of a name in `/etc/passwd`.
pub(crate) fn user_named(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwd_is_read_by_whole_names() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:7:8::/:/bin/sh\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(user_named(passwd, "postgres"), Some((101, 104)));
        assert_eq!(user_named(passwd, "post"), None);
    }
}
