//! The recorded outcome of a suite on the stock crate: one committed file a suite.

use std::collections::BTreeSet;
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
    Ok(fs_err::write(file, text)?)
}

/// Reads what the stock crate did.
pub(super) fn read(file: &Path) -> Result<Outcome> {
    let text = fs_err::read_to_string(file).context(
        "there is no record of the stock crate: make it with `cargo xtask compat --bless`",
    )?;
    parse(text.lines().filter(|line| !line.starts_with('#')))
}

fn parse<'l>(lines: impl Iterator<Item = &'l str>) -> Result<Outcome> {
    let tests = lines.map(|line| {
        let parts = line.split_once(' ');
        let (word, name) = parts.with_context(|| format!("not a line of a record: {line}"))?;
        Ok((name.to_owned(), Verdict::parse(word)?))
    });
    let tests = tests.collect::<Result<_>>()?;
    Ok(Outcome { tests })
}

/// Fails unless the same tests passed; gives a line that says so.
///
/// A test that passes on the stock crate in some runs only has to pass in some runs, or in all.
pub(super) fn compare(stock: &Outcome, ours: &Outcome) -> Result<String> {
    let mut differences = String::new();
    let names: BTreeSet<&String> = stock.tests.keys().chain(ours.tests.keys()).collect();
    for name in names {
        let [there, here] = [stock, ours].map(|side| side.tests.get(name).copied());
        let is_same = match there {
            Some(Verdict::Unstable) => matches!(here, Some(Verdict::Ok | Verdict::Unstable)),
            _ => (there == Some(Verdict::Ok)) == (here == Some(Verdict::Ok)),
        };
        if !is_same {
            let [there, here] = [there, here].map(|v| v.map_or("not run", Verdict::word));
            write!(
                differences,
                "\n  {name}: {there} on the stock crate, {here} on the drop-in"
            )?;
        }
    }
    ensure!(
        differences.is_empty(),
        "the sets of passing tests differ:{differences}"
    );
    let passed = stock.with(Verdict::Ok).len();
    let mut line = format!("the same {passed} tests pass");
    for (title, verdict) in [
        ("fails on the stock crate, too", Verdict::Failed),
        (
            "passes now and then, on the stock crate, too",
            Verdict::Unstable,
        ),
    ] {
        let names = stock.with(verdict);
        if !names.is_empty() {
            write!(line, "; {title}: {}", names.join(", "))?;
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &str) -> Outcome {
        parse(lines.split(", ")).unwrap()
    }

    #[test]
    fn a_record_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.txt");
        let stock = outcome("ok a::b, FAILED src/c.rs (line 3), ignored d");
        record(&file, "a suite", "bevy_tasks", &stock).unwrap();
        assert_eq!(read(&file).unwrap(), stock);
    }

    #[test]
    fn only_the_same_passing_set_is_accepted() {
        let stock = outcome("ok a, ok b, FAILED c, unstable d");
        for ours in [
            "ok a, ok b, FAILED c, unstable d",
            "ok a, ok b, FAILED c, ok d",
            "ok a, ok b, unstable c, ok d",
        ] {
            let line = compare(&stock, &outcome(ours)).unwrap();
            let wanted = "the same 2 tests pass; fails on the stock crate, too: c; passes now and then, on the stock crate, too: d";
            assert_eq!(line, wanted);
        }
        for (ours, name, there, here) in [
            ("ok a, FAILED b, FAILED c, ok d", "b", "ok", "FAILED"),
            ("ok a, ok b, ok c, ok d", "c", "FAILED", "ok"),
            ("ok a, ok b, ok d, ok e", "e", "not run", "ok"),
            ("ok a, unstable b, FAILED c, ok d", "b", "ok", "unstable"),
            ("ok a, FAILED c, ok d", "b", "ok", "not run"),
            ("ok a, ok b, FAILED c, FAILED d", "d", "unstable", "FAILED"),
        ] {
            let error = compare(&stock, &outcome(ours)).unwrap_err().to_string();
            let wanted = format!("{name}: {there} on the stock crate, {here} on the drop-in");
            assert!(error.ends_with(&wanted), "{error}");
        }
    }
}
