//! Exit codes, and errors that carry one.

use std::fmt;

use anyhow::Error;

use crate::measure::child::{self, Interrupted};

/// How the command ends when it does not end well. The numbers are part of its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// A gated bench got worse.
    Regression = 1,
    /// The arguments, the repository or the file system do not allow it.
    Usage = 2,
    /// A side does not build, or a bench of it fails.
    Bench = 3,
    /// With `--strict`: too noisy to say.
    Noisy = 4,
    /// With `--require-all`: some benches are on one side only.
    Missing = 5,
    /// Ctrl-C; `--resume` goes on.
    Interrupted = 130,
}

/// An error with its exit code. The message is one line with the next step; what a failed program
/// printed last may follow it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(super) fn error(code: Code, message: impl Into<String>) -> Error {
        Error::new(Self {
            code,
            message: message.into(),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The error with this code, unless it has one or is an interruption.
fn coded(error: Error, code: Code) -> Error {
    if error.is::<Failure>() || error.is::<Interrupted>() {
        return error;
    }
    Failure::error(code, format!("{error:#}"))
}

/// The error is that a side does not build or run.
pub(super) fn of_bench(error: Error) -> Error {
    coded(error, Code::Bench)
}

/// The error as it leaves the command: every one has a code.
pub(super) fn finished(error: Error) -> Error {
    // A child that shared the terminal may have failed of the same Ctrl-C.
    if error.is::<Interrupted>() || child::check_interrupt().is_err() {
        let message = "interrupted; the same command with `--resume` goes on where it stopped";
        return Failure::error(Code::Interrupted, message);
    }
    coded(error, Code::Usage)
}
