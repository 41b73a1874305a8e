//! Block anywhere: every act of user code on its thread, at every site that calls user code, on every kind of thread.
//! One process a cell; the result is the documented one, or the test fails: nothing hangs, nothing aborts.
//!
//! Run some cells by parts of their names, or list all:
//!
//! ```text
//! cargo test -p terrace-conformance --test anywhere -- scope/stop_hook
//! cargo test -p terrace-conformance --test anywhere -- --list
//! ```
//!
//! `TERRACE_CELL_SECONDS` is how long a cell may take; one that hangs prints where, and the executor.

mod acts;
mod cell;
mod parent;
mod roles;
mod sites;
mod world;

use std::process::ExitCode;

use cell::Cell;

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(parent::CELL) {
        let chosen = Cell::all().find(|cell| cell.to_string() == name);
        roles::run(chosen.expect("the parent names a cell of the matrix"));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen = |cell: &Cell| {
        let name = cell.to_string();
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter))
    };
    let cells: Vec<Cell> = Cell::all().filter(chosen).collect();
    if words.iter().any(|word| word == "--list") {
        for cell in cells {
            println!("{cell}: test");
        }
        return ExitCode::SUCCESS;
    }
    match parent::run(&cells) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
