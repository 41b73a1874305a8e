//! `cargo xtask compat --examples`: the examples of `smol`, unchanged, do the same on the published async-executor and on the
//! drop-in.
//!
//! All of them are built. Those that need nothing outside of this machine are run: servers get clients, on the ports of loopback
//! that they name. Not run are those that fetch pages of the world wide web, and the clients for TLS, which refuse the published
//! server's certificate: it has expired.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::{NamedTempFile, TempDir};

use super::registry::{self, ASYNC_EXECUTOR, SMOL};
use super::sides::Side;
use crate::build::Build;
use crate::process::{Killed, same};
use crate::progress::run_all;
use crate::workspace::Workspace;

/// Far more than an example needs to print a line.
const LIMIT: Duration = Duration::from_secs(60);
/// How often its output is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// The published key is encrypted in a way that OpenSSL 3 offers only on demand.
const OPENSSL: &str = "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = on\nlegacy = on\n[on]\nactivate = 1\n";

/// One side's examples.
struct Examples {
    /// Where the programs lie.
    programs: PathBuf,
    /// The directory that they run in.
    cwd: TempDir,
}

/// What is done with examples: what they print.
type Scene = (&'static str, fn(&Examples) -> Result<String>);

const SCENES: &[Scene] = &[
    ("async-h1-server", |on| on.serves("async-h1-server", GET)),
    ("chat-server, chat-client", Examples::chat),
    ("ctrl-c", |on| on.interrupted("ctrl-c")),
    ("hyper-server", |on| on.serves("hyper-server", GET)),
    ("linux-inotify", Examples::inotify),
    ("linux-timerfd", |on| {
        on.start("linux-timerfd", "", 0)?.ended()
    }),
    // It answers before it is asked.
    ("simple-server", |on| on.serves("simple-server", "")),
    ("tcp-server, tcp-client", Examples::tcp),
    ("unix-signal", |on| on.interrupted("unix-signal")),
];

const GET: &str = "GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// An example that runs, until dropped.
struct Running {
    name: &'static str,
    child: Killed,
    /// What it prints.
    output: NamedTempFile,
}

impl Running {
    fn output(&self) -> Result<String> {
        let bytes = fs::read(self.output.path())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits until there is a value.
    fn wait<T>(
        &mut self,
        what: &str,
        mut value: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            if let Some(value) = value(self)? {
                return Ok(value);
            }
            ensure!(
                start.elapsed() < LIMIT,
                "{} does not {what}:\n{}",
                self.name,
                self.output()?
            );
            thread::sleep(PAUSE);
        }
    }

    /// Waits until the output has `text` for the `times`th time.
    fn expect(&mut self, text: &str, times: usize) -> Result<()> {
        self.wait(&format!("print {text:?}"), |this| {
            let has_it = this.output()?.matches(text).count() >= times;
            Ok(has_it.then_some(()))
        })
    }

    fn say(&mut self, line: &str) -> Result<()> {
        let input = self.child.0.stdin.as_mut().context("it has an input")?;
        Ok(input.write_all(line.as_bytes())?)
    }

    /// Waits for the end: what it has printed, and how it ended.
    fn ended(mut self) -> Result<String> {
        drop(self.child.0.stdin.take());
        let status = self.wait("end", |this| Ok(this.child.0.try_wait()?))?;
        let output = self.output()?;
        ensure!(status.success(), "{} failed: {status}\n{output}", self.name);
        Ok(output)
    }
}

impl Examples {
    /// Builds them.
    fn build(ws: &Workspace, side: Side) -> Result<Self> {
        let dir = ws.target.join("compat/examples").join(side.name());
        let package = registry::locate(ws, SMOL)?;
        registry::copy(&package, &dir, &side.patch(ws, &[ASYNC_EXECUTOR]))?;
        side.prove(ws, &dir, &[], &ASYNC_EXECUTOR)?;
        let build = Build::of(&dir, dir.join("target"));
        build.cargo(&["build", "--quiet", "--examples"])?;
        let cwd = tempfile::tempdir()?;
        fs::write(cwd.path().join("openssl.cnf"), OPENSSL)?;
        let programs = build.target().join("debug/examples");
        Ok(Self { programs, cwd })
    }

    /// Starts an example, and waits until it has printed `text` so many times.
    fn start(&self, name: &'static str, text: &str, times: usize) -> Result<Running> {
        // Elsewhere than in `cwd`, whose files one example watches.
        let output = NamedTempFile::new()?;
        let child = Command::new(self.programs.join(name))
            .current_dir(self.cwd.path())
            .env("RUST_BACKTRACE", "0")
            .env("OPENSSL_CONF", self.cwd.path().join("openssl.cnf"))
            .stdin(Stdio::piped())
            .stdout(output.reopen()?)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut running = Running {
            name,
            child: Killed(child),
            output,
        };
        running.expect(text, times)?;
        Ok(running)
    }

    /// A server's answer to a request, and what it prints.
    fn serves(&self, name: &'static str, request: &str) -> Result<String> {
        let mut server = self.start(name, "Listening on", 2)?;
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 8000))?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        server.expect("Serving", 1)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(answer.contains("200 OK"), "not an answer: {answer:?}");
        Ok(answer + &server.output()?)
    }

    /// Three words of two clients, in turn.
    fn chat(&self) -> Result<String> {
        let server = self.start("chat-server", "Start a chat client", 1)?;
        let mut anna = self.start("chat-client", "has joined", 1)?;
        let mut boris = self.start("chat-client", "has joined", 1)?;
        anna.expect("has joined", 2)?;
        anna.say("hello\n")?;
        boris.expect("says: hello", 1)?;
        boris.say("good day\n")?;
        anna.expect("says: good day", 1)?;
        anna.say("bye\n")?;
        boris.expect("says: bye", 1)?;
        let boris = boris.ended()?;
        anna.expect("has left", 1)?;
        Ok(anna.output()? + &boris + &server.output()?)
    }

    fn tcp(&self) -> Result<String> {
        let mut server = self.start("tcp-server", "Now start", 1)?;
        let mut client = self.start("tcp-client", "Connected", 1)?;
        for line in ["one\n", "two\n"] {
            client.say(line)?;
            client.expect(line, 1)?;
        }
        server.expect("Accepted", 1)?;
        Ok(client.output()? + &server.output()?)
    }

    /// The example ends at the signal of Ctrl-C.
    fn interrupted(&self, name: &'static str) -> Result<String> {
        let example = self.start(name, "Waiting for Ctrl-C", 1)?;
        kill(
            Pid::from_raw(example.child.0.id().try_into()?),
            Signal::SIGINT,
        )?;
        example.ended()
    }

    fn inotify(&self) -> Result<String> {
        let mut example = self.start("linux-inotify", "Try opening a file", 1)?;
        let file = self.cwd.path().join("new");
        fs::write(&file, "text")?;
        example.expect("CLOSE_WRITE", 1)?;
        fs::remove_file(&file)?;
        example.expect("DELETE", 1)?;
        example.output()
    }
}

/// Without addresses, dates and times.
fn plain(text: &str) -> Result<String> {
    let chance = regex_lite::Regex::new(r"\d+(\.\d+){3}:\d{5}|(?m)^date: .*$|\d+\.\d+m?s")?;
    Ok(chance.replace_all(text, "…").into_owned())
}

/// Compares what the examples do whose names contain `filter`.
pub(super) fn run(ws: &Workspace, filter: &str) -> Result<()> {
    let mut scenes = SCENES.to_vec();
    scenes.retain(|(name, _)| name.contains(filter));
    ensure!(!scenes.is_empty(), "no example's name contains the filter");
    let [stock, ours] = Side::both(|side| Examples::build(ws, side))?;
    let name = |(name, _): &Scene| (*name).to_owned();
    run_all("compat --examples", &scenes, name, |(_, scene)| {
        let (stock, ours) = (plain(&scene(&stock)?)?, plain(&scene(&ours)?)?);
        same([("stock", &stock), ("ours", &ours)])?;
        Ok(format!("the same {} lines", stock.lines().count()))
    })
}

#[cfg(test)]
mod tests {
    use super::{Ipv4Addr, plain};

    #[test]
    fn what_is_chance_is_left_out() {
        let here = Ipv4Addr::LOCALHOST;
        let text =
            format!("{here}:40400 has joined {here}:6000\ndate: Mon\nWoke up after 1.000266883s");
        let wanted = format!("… has joined {here}:6000\n…\nWoke up after …");
        assert_eq!(plain(&text).unwrap(), wanted);
    }
}
