//! A message bus of its own for programs that need one: a `dbus-daemon` on a socket in a temporary directory.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::Killed;

/// A bus that ends when this is dropped.
pub(super) struct Bus {
    _daemon: Killed,
    address: String,
}

impl Bus {
    /// Starts one.
    pub(super) fn start() -> Result<Self> {
        let mut command = Command::new("dbus-daemon");
        command.args(["--session", "--nofork", "--print-address=1"]);
        let sockets = std::env::temp_dir();
        command.arg(format!("--address=unix:tmpdir={}", sockets.display()));
        let daemon = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start dbus-daemon (Debian: apt install dbus)")?;
        // From here on a failure ends the daemon.
        let mut daemon = Killed(daemon);
        let stdout = daemon.0.stdout.take();
        let mut stdout = BufReader::new(stdout.context("the daemon has an output")?);
        let mut address = String::new();
        stdout.read_line(&mut address)?;
        address.truncate(address.trim_end().len());
        ensure!(!address.is_empty(), "dbus-daemon printed no address");
        Ok(Self {
            _daemon: daemon,
            address,
        })
    }

    /// The variable of the environment that tells programs where it is.
    pub(super) fn variable(&self) -> (&'static str, String) {
        ("DBUS_SESSION_BUS_ADDRESS", self.address.clone())
    }
}
