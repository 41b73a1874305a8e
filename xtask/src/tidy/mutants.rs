//! Every deliberately weakened line has a row in the table of mutants or in that of faults, every row a line, every mutant a
//! model. A macro weakens the line: the build of the models has all mutants in it, and no cfg.

use anyhow::Result;

use super::Finding;
use crate::models::LOOM;
use crate::models::mutants::Mutant;
use crate::prove::{Fault, TABLE as FAULTS};
use crate::source::{Role, Source};
use crate::table::load;
use crate::workspace::Workspace;

/// The table of mutants.
const TABLE: &str = LOOM.mutants;

pub(super) fn check(ws: &Workspace, sources: &[Source]) -> Result<Vec<Finding>> {
    let faults = load::<Fault>(&ws.root, FAULTS)?.into_iter();
    let faults: Vec<String> = faults.map(|fault| fault.name).collect();
    Ok(compare(&load(&ws.root, TABLE)?, &faults, sources))
}

fn compare(mutants: &[Mutant], faults: &[String], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut planted: Vec<&String> = Vec::new();
    let layers = || sources.iter().filter(|source| source.is_in("crates"));
    let macros: Vec<&String> = layers().flat_map(|source| &source.weakening).collect();
    for source in layers() {
        for named in &source.names {
            let last = &named.path[named.path.len() - 1];
            let name = match &named.role {
                Role::Equals(name) if named.path == ["terrace_weaken"] => {
                    let what =
                        format!("a cfg plants `{name}`, which models do not see: `weakened!`");
                    findings.push(Finding::error(&source.path, named.line, what));
                    continue;
                }
                Role::Macro(Some(name), _) if macros.contains(&last) => name,
                _ => continue,
            };
            if !mutants.iter().any(|m| m.name == *name) && !faults.contains(name) {
                let what = format!("mutant `{name}` has no row in {TABLE} or {FAULTS}");
                findings.push(Finding::error(&source.path, named.line, what));
            }
            planted.push(name);
        }
    }
    for fault in faults.iter().filter(|fault| !planted.contains(fault)) {
        let what = format!("fault `{fault}` is planted in no line");
        findings.push(Finding::error(FAULTS, 0, what));
    }
    for Mutant { name, model, .. } in mutants {
        if !planted.contains(&name) {
            let what = format!("mutant `{name}` weakens no line");
            findings.push(Finding::error(TABLE, 0, what));
        }
        let function = model.rsplit("::").next().unwrap_or_default();
        let head = format!("fn {function}(");
        let mut models = sources.iter().filter(|source| source.is_in("loom-tests"));
        if !models.any(|source| source.text.contains(&head)) {
            let what = format!("mutant `{name}`: no model `{model}`");
            findings.push(Finding::error(TABLE, 0, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::source::Source;
    use crate::table::parse;

    const ROW: &str = "[[mutant]]\nname = \"queue-a\"\nlayer = \"queue\"\nmodel = \"steal\"\n";

    fn found(code: &str, model: &str, faults: &[&str]) -> Vec<String> {
        let rows = parse(ROW).expect("a valid table");
        let macros = "macro_rules! weakened { ($n:tt) => { cfg!(terrace_weaken = $n) } }\n\
                      macro_rules! ordering { ($n:tt) => { $crate::weakened!($n) } }\n";
        let sources = [
            ("crates/sync/src/macros.rs", macros),
            ("crates/queue/src/ring.rs", code),
            ("loom-tests/tests/a.rs", model),
        ]
        .map(|(path, text)| Source::new(path, text).expect("it is Rust"));
        let faults: Vec<String> = faults.iter().map(|fault| (*fault).to_owned()).collect();
        let findings = compare(&rows, &faults, &sources).into_iter();
        findings.map(|finding| finding.what).collect()
    }

    #[test]
    fn rows_and_lines_must_match() {
        let line = "fn f() { if weakened!(\"queue-a\") {} }\n";
        let model = "fn steal() {}\n";
        assert_eq!(found(line, model, &[]), [""; 0]);
        assert_eq!(found("", model, &[]), ["mutant `queue-a` weakens no line"]);
        assert_eq!(
            found(line, "fn other() {}\n", &[]),
            ["mutant `queue-a`: no model `steal`"]
        );
        let two = format!("fn g() {{ weakened!(\"queue-b\") }}\n{line}");
        let wanted =
            "mutant `queue-b` has no row in loom-tests/mutants.toml or loom-tests/faults.toml";
        assert_eq!(found(&two, model, &[]), [wanted]);
        assert_eq!(found(&two, model, &["queue-b"]), [""; 0]);
        let wanted = "fault `queue-b` is planted in no line";
        assert_eq!(found(line, model, &["queue-b"]), [wanted]);
    }

    #[test]
    fn a_macro_plants_them_and_no_cfg() {
        let with = |code: &str| found(code, "fn steal() {}\n", &[]);
        assert_eq!(with("ordering!(\n    \"queue-a\");\n"), [""; 0]);
        assert_eq!(with("ordering!(\"queue-b\");\n").len(), 2);
        assert_eq!(with("println!(\"queue-a\");\n").len(), 1);
        let wanted = "a cfg plants `queue-a`, which models do not see: `weakened!`";
        let by_cfg = with("#[cfg(not(terrace_weaken = \"queue-a\"))]\nfn f() {}\n");
        assert_eq!(by_cfg[0], wanted);
    }
}
