//! Every deliberately weakened line has a row in the table of mutants or in that of faults, every row a line or edits that find their
//! place, every mutant a model.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Files, error};
use crate::edits::apply;
use crate::models::LOOM;
use crate::models::mutants::Mutant;
use crate::prove::{Fault, TABLE as FAULTS, edits};
use crate::source::{Role, Source};
use crate::table::{Row, parse};

/// The table of mutants.
const MUTANTS: &str = LOOM.mutants;

/// The macros that plant the fault that their first argument names.
const PLANTING: [&str; 3] = ["weakened", "ordering", "unless_weakened"];

pub(super) fn check(files: &Files, sources: &[Source]) -> Result<Vec<String>> {
    let (mutants, faults) = (
        rows::<Mutant>(files, MUTANTS)?,
        rows::<Fault>(files, FAULTS)?,
    );
    let mut findings = Vec::new();
    let mut planted = Vec::new();
    for source in sources.iter().filter(|source| source.is_in("crates")) {
        for named in &source.names {
            if let Role::Macro(Some(name), _) = &named.role
                && PLANTING.contains(&named.last())
            {
                planted.push(name);
                let mut names = mutants.iter().map(|mutant| &mutant.name);
                if !names.any(|n| n == name) && !faults.iter().any(|f| f.name == *name) {
                    let what = format!("mutant `{name}` has no row in {MUTANTS} or {FAULTS}");
                    findings.push(error(&source.path, named.line, &what));
                }
            }
        }
    }
    let mut found = |table, what: String| findings.push(error(table, 0, &what));
    for Fault { name, .. } in &faults {
        let edits = edits(&faults, name);
        match (planted.contains(&name), edits.is_empty()) {
            (false, true) => found(FAULTS, format!("fault `{name}` is planted in no line")),
            (true, false) => found(FAULTS, format!("fault `{name}` has a line and edits")),
            _ => {}
        }
        let read = |file: &Path| files.get(file).cloned().context("there is no such file");
        if let Err(why) = apply(edits, read) {
            found(FAULTS, format!("fault `{name}`: {why:#}"));
        }
    }
    for Mutant { name, model, .. } in &mutants {
        if !planted.contains(&name) {
            found(MUTANTS, format!("mutant `{name}` weakens no line"));
        }
        let head = format!("fn {}(", model.rsplit("::").next().unwrap_or_default());
        let mut tests = files
            .iter()
            .filter(|(path, _)| path.starts_with("loom-tests"));
        if !tests.any(|(_, text)| text.contains(&head)) {
            found(MUTANTS, format!("mutant `{name}`: no model `{model}`"));
        }
    }
    Ok(findings)
}

fn rows<R: Row>(files: &Files, table: &str) -> Result<Vec<R>> {
    let text = files.get(Path::new(table)).map_or("", String::as_str);
    parse(text).with_context(|| format!("{table} is not a table of [[{}]]", R::NAME))
}
