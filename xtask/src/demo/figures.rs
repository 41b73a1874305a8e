//! What a process of the app says of its frames.

use anyhow::{Context, Result, ensure};

/// Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) frames: Vec<f64>,
    pub(crate) cpu: f64,
    pub(crate) startup: f64,
    pub(crate) threads: usize,
    /// What the app has computed, in words that are the same for the same results.
    pub(crate) fingerprint: String,
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
        let numbers = |name: &str| {
            let words = rest(name)?.split(' ');
            let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
            let numbers = numbers.with_context(|| format!("`{name}` of the app is no number"))?;
            ensure!(!numbers.is_empty(), "`{name}` of the app is empty");
            Ok::<_, anyhow::Error>(numbers)
        };
        Ok(Self {
            frames: numbers("frames")?,
            cpu: numbers("cpu")?[0],
            startup: numbers("startup")?[0],
            threads: rest("threads")?.parse()?,
            fingerprint: rest("fingerprint")?.to_owned(),
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
        let error = Figures::parse("frames 1\n").expect_err("incomplete");
        assert_eq!(error.to_string(), "the app says no `cpu`");
        let error = Figures::parse("frames x\ncpu 1\nstartup 1\n").expect_err("wrong");
        assert_eq!(error.to_string(), "`frames` of the app is no number");
    }
}
