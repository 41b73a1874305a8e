//! Programs that are measured: their output as it comes, their CPU time, a time limit, and an end at
//! Ctrl-C.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How often a silent program is looked at; one that prints or ends is seen at once.
const POLL: Duration = Duration::from_millis(100);
/// Of a longer output the last bytes are kept.
const KEPT: usize = 1 << 20;
/// Lines of a failed program's output that an error shows.
const TAIL: usize = 30;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The user pressed Ctrl-C, or the program was asked to terminate.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// From now on Ctrl-C ends the running child and makes [`run`] fail with [`Interrupted`], instead of
/// ending this program. A second call changes nothing.
pub(crate) fn catch_interrupts() -> Result<()> {
    match ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst)) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(error).context("cannot set a handler for Ctrl-C"),
    }
}

/// Fails with [`Interrupted`] after Ctrl-C.
pub(crate) fn check_interrupt() -> Result<()> {
    if INTERRUPTED.load(Ordering::SeqCst) {
        bail!(Interrupted);
    }
    Ok(())
}

/// How a child ended.
pub(crate) struct Ended {
    /// `None`: it was killed at the time limit.
    status: Option<ExitStatus>,
    limit: Duration,
    pub(crate) stdout: String,
    stderr: String,
}

impl Ended {
    /// Itself, if it succeeded. The error begins with `what` and ends with the last lines of standard error, or of standard
    /// output if that is empty.
    pub(crate) fn checked(self, what: &str) -> Result<Self> {
        let how = match self.status {
            Some(status) if status.success() => return Ok(self),
            Some(status) => status.to_string(),
            None => format!("killed, it did not end within {} s", self.limit.as_secs()),
        };
        let text = if self.stderr.trim().is_empty() {
            &self.stdout
        } else {
            &self.stderr
        };
        let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let last = &all[all.len().saturating_sub(TAIL)..];
        let last: String = last.iter().map(|l| format!("\n    {l}")).collect();
        bail!("{what}: {how}{last}")
    }
}

/// CPU time of a child's threads so far, living and ended; `None` where the system has no such clock.
pub(crate) struct CpuClock(u32);

impl CpuClock {
    #[cfg(target_os = "linux")]
    pub(crate) fn now(&self) -> Option<Duration> {
        let clock = nix::time::clock_getcpuclockid(pid(self.0)).ok()?;
        clock.now().ok().map(Duration::from)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now(&self) -> Option<Duration> {
        None
    }
}

/// Runs a program without input, in a process group of its own, which is killed at the time limit and at
/// Ctrl-C, which is the error [`Interrupted`]. `seen` gets each piece of standard error when it arrives.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    mut seen: impl FnMut(&[u8], &CpuClock),
) -> Result<Ended> {
    check_interrupt()?;
    let start = Instant::now();
    let mut stdout = tempfile::tempfile().context("cannot create a temporary file")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let clock = CpuClock(child.id());
    let (sender, pieces) = mpsc::channel();
    let mut pipe = child.stderr.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        // An error ends the output like its end does: the exit status tells what happened.
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut stderr = Vec::new();
    let mut killed = false;
    loop {
        match pieces.recv_timeout(POLL) {
            Ok(bytes) => {
                seen(&bytes, &clock);
                stderr.extend_from_slice(&bytes);
                if stderr.len() > 2 * KEPT {
                    stderr.drain(..stderr.len() - KEPT);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The pipe is closed: the program ended, or will.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !killed && (start.elapsed() >= limit || check_interrupt().is_err()) {
            kill(&child);
            killed = true;
        }
    }
    let status = child.wait().context("cannot wait for a child")?;
    reader.join().expect("a reader does not panic");
    check_interrupt()?;
    let mut text = Vec::new();
    stdout.rewind()?;
    stdout.read_to_end(&mut text)?;
    Ok(Ended {
        status: (!killed).then_some(status),
        limit,
        stdout: String::from_utf8_lossy(&text).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

fn kill(child: &Child) {
    // It fails if the group has ended by now.
    let _ = killpg(pid(child.id()), Signal::SIGKILL);
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).expect("process ids are positive"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{CpuClock, Ended, run};

    fn sh(script: &str, millis: u64, seen: impl FnMut(&[u8], &CpuClock)) -> Ended {
        let mut command = Command::new("sh");
        let limit = Duration::from_millis(millis);
        run(command.args(["-c", script]), limit, seen).expect("sh starts")
    }

    #[test]
    fn outputs_and_the_status_are_returned_or_the_group_is_killed() {
        let mut seen = Vec::new();
        let script = "echo out; echo err >&2; exit 3";
        let ended = sh(script, 60_000, |bytes, _| seen.extend_from_slice(bytes));
        assert_eq!((&*ended.stdout, &*seen), ("out\n", &b"err\n"[..]));
        let error = |ended: Ended| ended.checked("sh").err().expect("it failed").to_string();
        assert_eq!(error(ended), "sh: exit status: 3\n    err");
        let killed = sh("sleep 600 & sleep 600", 50, |_, _| {});
        assert!(error(killed).starts_with("sh: killed"));
        let missing = &mut Command::new("no-such-program-here");
        assert!(run(missing, Duration::from_secs(1), |_, _| {}).is_err());
    }
}
