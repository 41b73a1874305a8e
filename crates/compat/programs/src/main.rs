//! Small real programs on crates that stand on async-executor. `--list` prints their names; `--program NAME` runs one, whose output
//! does not depend on the executor. `--load REQUESTS` prints what so many requests to the HTTP server took.

mod bus;
mod chat;
mod http;
mod load;
mod pools;

use std::process::ExitCode;

use differ_main::{Failure, Named, run_named};

const PROGRAMS: [Named; 4] = [
    ("http", http::run),
    ("bus", bus::run),
    ("chat", chat::run),
    ("pools", pools::run),
];

fn main() -> ExitCode {
    run_named(&PROGRAMS, |words| match words {
        ["--load", requests] => load::run(requests),
        _ => Err("usage: --list | --program NAME | --load REQUESTS".into()),
    })
}
