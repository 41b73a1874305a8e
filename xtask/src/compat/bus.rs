//! A message bus of its own for programs that need one: a `dbus-daemon` on a socket in a temporary directory.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A bus that ends when this is dropped.
pub(super) struct Bus {
    daemon: Child,
    address: String,
}

impl Bus {
    /// Starts one.
    pub(super) fn start() -> Result<Self> {
        let mut command = Command::new("dbus-daemon");
        command.args(["--session", "--nofork", "--print-address=1"]);
        let sockets = std::env::temp_dir();
        command.arg(format!("--address=unix:tmpdir={}", sockets.display()));
        let mut daemon = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start dbus-daemon (Debian: apt install dbus)")?;
        let stdout = daemon.stdout.take().context("the daemon has an output")?;
        // From here on a failure ends the daemon.
        let mut bus = Self {
            daemon,
            address: String::new(),
        };
        BufReader::new(stdout).read_line(&mut bus.address)?;
        bus.address.truncate(bus.address.trim_end().len());
        ensure!(!bus.address.is_empty(), "dbus-daemon printed no address");
        Ok(bus)
    }

    /// The variable of the environment that tells programs where it is.
    pub(super) fn variable(&self) -> (&'static str, String) {
        ("DBUS_SESSION_BUS_ADDRESS", self.address.clone())
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.daemon.kill();
        let _status = self.daemon.wait();
    }
}
