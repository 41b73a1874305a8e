//! The recorded outcome of a suite on the stock crate: one committed file a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

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
        fs_err::create_dir_all(dir)?;
    }
    Ok(fs_err::write(file, text)?)
}

/// Reads what the stock crate did.
pub(super) fn read(file: &Path) -> Result<Outcome> {
    let text = fs_err::read_to_string(file).with_context(|| {
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
    let required = stock.passed();
    let unstable = stock.with(Verdict::Unstable);
    let mut differences = String::new();
    let names: BTreeSet<&String> = stock.tests.keys().chain(ours.tests.keys()).collect();
    for name in names {
        let [there, here] = [stock, ours].map(|side| side.tests.get(name).copied());
        let word = |verdict: Option<Verdict>| verdict.map_or("not run", Verdict::word);
        let passes = match there {
            Some(Verdict::Unstable) => matches!(here, Some(Verdict::Ok | Verdict::Unstable)),
            Some(Verdict::Ok) => here == there,
            _ if here == Some(Verdict::Ok) => {
                write!(
                    differences,
                    "\n  passes on the drop-in only: {name} ({})",
                    word(there)
                )?;
                continue;
            }
            _ => continue,
        };
        if !passes {
            write!(
                differences,
                "\n  passes on the stock crate only: {name} ({})",
                word(here)
            )?;
        }
    }
    ensure!(
        differences.is_empty(),
        "the sets of passing tests differ:{differences}"
    );
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

    /// An outcome of lines as a record has them.
    fn outcome(lines: &str) -> Outcome {
        let tests = lines.split(", ").map(|line| {
            let (word, name) = line.split_once(' ').unwrap();
            (name.to_owned(), Verdict::parse(word).unwrap())
        });
        let tests = tests.collect();
        Outcome { tests }
    }

    #[test]
    fn a_record_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/suite.txt");
        let stock = outcome("ok a::b, FAILED src/c.rs (line 3), ignored d");
        record(&file, "a suite", "bevy_tasks", &stock).unwrap();
        assert_eq!(read(&file).unwrap(), stock);
    }

    #[test]
    fn only_the_same_passing_set_is_accepted() {
        let stock = outcome("ok a, ok b, FAILED c, unstable d");
        let passes = [
            "ok a, ok b, FAILED c, unstable d",
            "ok a, ok b, FAILED c, ok d",
            "ok a, ok b, unstable c, ok d",
        ];
        for ours in passes {
            let line = compare(&stock, &outcome(ours)).unwrap();
            let wanted = "the same 2 tests pass; fails on the stock crate, too: c; passes now and then, on the stock crate, too: d";
            assert_eq!(line, wanted);
        }
        let fails = [
            (
                "ok a, FAILED b, FAILED c, ok d",
                "stock crate only: b (FAILED)",
            ),
            ("ok a, ok b, ok c, ok d", "drop-in only: c (FAILED)"),
            ("ok a, ok b, ok d, ok e", "drop-in only: e (not run)"),
            (
                "ok a, unstable b, FAILED c, ok d",
                "stock crate only: b (unstable)",
            ),
            ("ok a, FAILED c, ok d", "stock crate only: b (not run)"),
            (
                "ok a, ok b, FAILED c, FAILED d",
                "stock crate only: d (FAILED)",
            ),
        ];
        for (ours, wanted) in fails {
            let error = compare(&stock, &outcome(ours)).unwrap_err().to_string();
            assert!(error.ends_with(wanted), "{error}");
        }
    }
}
