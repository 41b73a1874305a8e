//! The recorded outcome of a suite on the stock crate: one committed file a suite.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::outcome::{Outcome, Verdict};

/// Writes what the stock crate did.
pub(super) fn record(file: &Path, title: &str, crate_name: &str, stock: &Outcome) -> Result<()> {
    let mut text = format!(
        "# {title}\n# on the stock {crate_name}, recorded by `cargo xtask compat --bless`. The drop-in has to pass what is ok.\n"
    );
    for (name, verdict) in &stock.tests {
        writeln!(text, "{} {name}", verdict.word())?;
    }
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Reads what the stock crate did.
pub(super) fn read(file: &Path) -> Result<Outcome> {
    let text = std::fs::read_to_string(file).with_context(|| {
        format!(
            "{} is missing: record it with `cargo xtask compat --bless`",
            file.display()
        )
    })?;
    let mut tests = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (word, name) = line
            .split_once(' ')
            .with_context(|| format!("not a line of a record: {line}"))?;
        tests.insert(name.to_owned(), Verdict::parse(word)?);
    }
    Ok(Outcome { tests })
}

/// Fails unless the same tests passed; gives a line that says so.
///
/// A test that passes on the stock crate in some runs only has to pass in some runs, or in all.
pub(super) fn compare(stock: &Outcome, ours: &Outcome) -> Result<String> {
    let unstable = stock.with(Verdict::Unstable);
    let required = stock.passed();
    let mut passed = ours.passed();
    let mut missing: Vec<_> = required.difference(&passed).copied().collect();
    for name in &unstable {
        let sometimes = ours.tests.get(*name) == Some(&Verdict::Unstable);
        if !passed.remove(name) && !sometimes {
            missing.push(name);
        }
    }
    let added: Vec<_> = passed.difference(&required).copied().collect();
    let describe = |title: &str, names: Vec<&str>, of: &Outcome| {
        names.into_iter().fold(String::new(), |text, name| {
            let verdict = of
                .tests
                .get(name)
                .map_or("not run", |verdict| verdict.word());
            format!("{text}\n  {title}: {name} ({verdict})")
        })
    };
    let differences = describe("passes on the stock crate only", missing, ours)
        + &describe("passes on the drop-in only", added, stock);
    if !differences.is_empty() {
        bail!("the sets of passing tests differ:{differences}");
    }
    let mut line = format!("the same {} tests pass", required.len());
    for (title, names) in [
        ("fails on the stock crate, too", stock.with(Verdict::Failed)),
        ("passes now and then, on the stock crate, too", unstable),
    ] {
        if !names.is_empty() {
            let names: Vec<_> = names.into_iter().collect();
            write!(line, "; {title}: {}", names.join(", "))?;
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(tests: &[(&str, Verdict)]) -> Outcome {
        Outcome {
            tests: tests
                .iter()
                .map(|(name, verdict)| ((*name).to_owned(), *verdict))
                .collect(),
        }
    }

    #[test]
    fn a_record_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/suite.txt");
        let stock = outcome(&[
            ("a::b", Verdict::Ok),
            ("src/c.rs (line 3)", Verdict::Failed),
            ("d", Verdict::Ignored),
        ]);
        record(&file, "a suite", "bevy_tasks", &stock).unwrap();
        assert_eq!(read(&file).unwrap(), stock);
    }

    #[test]
    fn only_the_same_passing_set_is_accepted() {
        let stock = outcome(&[
            ("a", Verdict::Ok),
            ("b", Verdict::Ok),
            ("c", Verdict::Failed),
        ]);
        assert!(
            compare(&stock, &stock)
                .unwrap()
                .contains("same 2 tests pass; fails on the stock crate, too: c")
        );
        let fewer = outcome(&[
            ("a", Verdict::Ok),
            ("b", Verdict::Failed),
            ("c", Verdict::Failed),
        ]);
        let error = compare(&stock, &fewer).unwrap_err().to_string();
        assert!(
            error.contains("passes on the stock crate only: b (FAILED)"),
            "{error}"
        );
        let more = outcome(&[("a", Verdict::Ok), ("b", Verdict::Ok), ("c", Verdict::Ok)]);
        let error = compare(&stock, &more).unwrap_err().to_string();
        assert!(
            error.contains("passes on the drop-in only: c (FAILED)"),
            "{error}"
        );
        let shaky = outcome(&[
            ("a", Verdict::Ok),
            ("b", Verdict::Unstable),
            ("c", Verdict::Failed),
        ]);
        let error = compare(&stock, &shaky).unwrap_err().to_string();
        assert!(
            error.contains("passes on the stock crate only: b (unstable)"),
            "{error}"
        );
        let gone = outcome(&[("a", Verdict::Ok)]);
        assert!(
            compare(&stock, &gone)
                .unwrap_err()
                .to_string()
                .contains("b (not run)")
        );
    }
    #[test]
    fn what_the_stock_crate_passes_by_chance_has_to_pass_at_all() {
        let stock = outcome(&[("a", Verdict::Ok), ("b", Verdict::Unstable)]);
        for verdict in [Verdict::Ok, Verdict::Unstable] {
            let line = compare(&stock, &outcome(&[("a", Verdict::Ok), ("b", verdict)])).unwrap();
            assert!(
                line.contains("same 1 tests pass; passes now and then"),
                "{line}"
            );
        }
        let never = outcome(&[("a", Verdict::Ok), ("b", Verdict::Failed)]);
        let error = compare(&stock, &never).unwrap_err().to_string();
        assert!(error.contains("b (FAILED)"), "{error}");
    }
}
