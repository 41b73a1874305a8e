//! Every deliberately weakened line has a row in the table of mutants or in that of faults, every row a line, every mutant a
//! model.

use anyhow::Result;

use super::Finding;
use super::source::Source;
use crate::models::LOOM;
use crate::models::mutants::{Mutant, load};
use crate::prove::{self, table::TABLE as FAULTS};
use crate::workspace::Workspace;

/// The table of mutants.
const TABLE: &str = LOOM.mutants;

pub(super) fn check(ws: &Workspace, sources: &[Source]) -> Result<Vec<Finding>> {
    let faults = prove::table::load(&ws.root)?;
    let faults: Vec<String> = faults.into_iter().map(|fault| fault.name).collect();
    Ok(compare(&load(&ws.root, LOOM.mutants)?, &faults, sources))
}

fn compare(mutants: &[Mutant], faults: &[String], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code: Vec<String> = Vec::new();
    let layers = || sources.iter().filter(|s| s.is_in("crates"));
    let macros: Vec<String> = layers().flat_map(weakening_macros).collect();
    for source in layers() {
        for (line, name) in weakened(&source.full.join("\n"), &macros) {
            if !mutants.iter().any(|m| m.name == name) && !faults.contains(&name) {
                let what = format!("mutant `{name}` has no row in {TABLE} or {FAULTS}");
                findings.push(Finding::error(&source.path, line + 1, what));
            }
            in_code.push(name);
        }
    }
    for fault in faults.iter().filter(|fault| !in_code.contains(fault)) {
        let what = format!("fault `{fault}` is planted in no line");
        findings.push(Finding::error(FAULTS, 0, what));
    }
    for mutant in mutants {
        if !in_code.contains(&mutant.name) {
            let what = format!("mutant `{}` weakens no line", mutant.name);
            findings.push(Finding::error(TABLE, 0, what));
        }
        let function = mutant.model.rsplit("::").next().unwrap_or_default();
        let head = format!("fn {function}(");
        let declares = |s: &Source| {
            s.is_in("loom-tests") && s.code.iter().any(|c| c.trim_start().starts_with(&head))
        };
        if !sources.iter().any(declares) {
            let what = format!("mutant `{}`: no model `{}`", mutant.name, mutant.model);
            findings.push(Finding::error(TABLE, 0, what));
        }
    }
    findings
}

/// The macros of a file that put their argument into the cfg, so that their uses name mutants.
fn weakening_macros(source: &Source) -> Vec<String> {
    let code = source.code.join("\n");
    code.split("macro_rules! ")
        .skip(1)
        .filter(|body| body.contains("terrace_weaken = $"))
        .filter_map(|body| body.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// The names in `terrace_weaken = "name"` and in uses of the macros, with their lines from 0.
fn weakened(full: &str, macros: &[String]) -> Vec<(usize, String)> {
    let calls = macros.iter().map(|name| format!("{name}!"));
    let mut found = Vec::new();
    for needle in calls.chain(["terrace_weaken".to_owned()]) {
        for (at, _) in full.match_indices(&needle) {
            let rest = full[at + needle.len()..].trim_start();
            let rest = rest.trim_start_matches(['=', '(', '[', '{']).trim_start();
            if let Some((name, _)) = rest.strip_prefix('"').and_then(|r| r.split_once('"')) {
                found.push((full[..at].matches('\n').count(), name.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::compare;
    use crate::models::mutants::parse;

    const ROW: &str = "[[mutant]]\nname = \"queue-a\"\nlayer = \"queue\"\nmodel = \"steal\"\n";

    fn sources(code: &str, model: &str) -> [Source; 2] {
        [
            Source::new("crates/queue/src/ring.rs", code),
            Source::new("loom-tests/tests/queue_ring.rs", model),
        ]
    }

    #[test]
    fn rows_and_lines_must_match() {
        let rows = parse(ROW).expect("a valid table");
        let line = "if cfg!(terrace_weaken = \"queue-a\") {}\n";
        assert!(compare(&rows, &[], &sources(line, "fn steal() {}\n")).is_empty());
        assert_eq!(
            compare(&rows, &[], &sources("", "fn steal() {}\n")).len(),
            1
        );
        assert_eq!(
            compare(&rows, &[], &sources(line, "fn other() {}\n")).len(),
            1
        );
        let two = format!("{line}#[cfg(not(terrace_weaken = \"queue-b\"))]\n");
        let found = compare(&rows, &[], &sources(&two, "fn steal() {}\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("queue-b"));
        let faults = ["queue-b".to_owned()];
        let model = "fn steal() {}\n";
        assert!(compare(&rows, &faults, &sources(&two, model)).is_empty());
        assert_eq!(compare(&rows, &faults, &sources(line, model)).len(), 1);
    }

    #[test]
    fn macros_name_mutants_too() {
        let rows = parse(ROW).expect("a valid table");
        let definition = "macro_rules! unless { ($n:tt) => { cfg!(terrace_weaken = $n) } }\n";
        let model = "fn steal() {}\n";
        let with =
            |call: &str| compare(&rows, &[], &sources(&format!("{definition}{call}"), model));
        assert!(with("unless!(\n    \"queue-a\");\n").is_empty());
        assert_eq!(with("unless!(\"queue-b\");\n").len(), 2);
        assert_eq!(with("println!(\"queue-a\");\n").len(), 1);
    }
}
