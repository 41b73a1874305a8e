//! What a process of the app says of its frames.

use anyhow::{Context, Result};

/// Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) frames: Vec<f64>,
    pub(crate) cpu: f64,
    pub(crate) startup: f64,
    pub(crate) threads: usize,
    /// What the app has computed, in words that are the same for the same results.
    pub(crate) fingerprint: String,
    /// Of schedules that the app times, by name.
    pub(crate) schedules: Vec<(String, Vec<f64>)>,
}

impl Figures {
    /// Reads lines of a name and numbers.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let rest = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let found = lines.find(|(found, _)| *found == name);
            let (_, rest) = found.with_context(|| format!("the app says no `{name}`"))?;
            Ok::<_, anyhow::Error>(rest)
        };
        let parsed = |name: &str, words: &str| {
            let numbers: Result<Vec<f64>, _> = words.split(' ').map(str::parse).collect();
            numbers.with_context(|| format!("`{name}` of the app is no number"))
        };
        let numbers = |name: &str| parsed(name, rest(name)?);
        let schedules = text.lines().filter_map(|l| l.strip_prefix("schedule "));
        let schedules = schedules.map(|line| {
            let named = line.split_once(' ');
            let (name, times) = named.context("the app says no time of a schedule")?;
            Ok((name.to_owned(), parsed(name, times)?))
        });
        Ok(Self {
            frames: numbers("frames")?,
            cpu: numbers("cpu")?[0],
            startup: numbers("startup")?[0],
            threads: rest("threads")?.parse()?,
            fingerprint: rest("fingerprint")?.to_owned(),
            schedules: schedules.collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    #[test]
    fn lines_are_read_and_missing_ones_named() {
        let text = "frames 3 1 2\ncpu 7\nthreads 4\nstartup 9\nfingerprint a b\n";
        let read = Figures::parse(text).expect("complete");
        assert_eq!((&read.frames[..], read.threads), (&[3.0, 1.0, 2.0][..], 4));
        assert_eq!(read.fingerprint, "a b");
        assert!(read.schedules.is_empty());
        let schedules = format!("{text}schedule First 5 6\nschedule Last 7\n");
        let read = Figures::parse(&schedules).expect("complete");
        let wanted = [("First", vec![5.0, 6.0]), ("Last", vec![7.0])];
        let wanted = wanted.map(|(name, times)| (name.to_owned(), times));
        assert_eq!(read.schedules, wanted);
        let error = Figures::parse(&format!("{text}schedule First\n")).expect_err("no time");
        assert_eq!(error.to_string(), "the app says no time of a schedule");
        let error = Figures::parse("frames 1\n").expect_err("incomplete");
        assert_eq!(error.to_string(), "the app says no `cpu`");
        let error = Figures::parse("frames x\ncpu 1\nstartup 1\n").expect_err("wrong");
        assert_eq!(error.to_string(), "`frames` of the app is no number");
    }
}
