//! `cargo xtask prove`: faults are planted one by one, and the net of each, a model, a test or a sanitizer, must catch it.
//!
//! Each net is run without the fault first, and must pass: one that fails anyway proves nothing.

mod nets;
pub(crate) mod table;

use anyhow::{Result, ensure};
use clap::Args;

use crate::models::Verdict;
use crate::planted::{self, Outcome};
use crate::workspace::Workspace;
use nets::Nets;
use table::{Fault, Net, TABLE};

/// Options of `cargo xtask prove`.
#[derive(Args)]
pub(crate) struct ProveArgs {
    /// Only the faults whose name, description or test contains this text
    filter: Option<String>,
    /// Only the faults with this net
    #[arg(long, value_parser = ["loom", "shuttle", "test", "asan", "tsan", "soak"])]
    net: Option<String>,
}

impl ProveArgs {
    fn chooses(&self, fault: &Fault) -> bool {
        let filter = self.filter.as_deref().unwrap_or_default();
        let texts = [Some(&fault.name), Some(&fault.what), fault.test.as_ref()];
        let named = texts.into_iter().flatten().any(|t| t.contains(filter));
        named && self.net.as_ref().is_none_or(|net| *net == fault.net.name())
    }
}

impl Net {
    fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
            Self::Test => "test",
            Self::Asan => "asan",
            Self::Tsan => "tsan",
            Self::Soak => "soak",
        }
    }
}

impl planted::Fault for Fault {
    fn name(&self) -> &str {
        &self.name
    }

    fn net(&self) -> String {
        let words = [
            Some(self.net.name()),
            self.package.as_deref(),
            self.test.as_deref(),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Runs the nets of the faults chosen without them, then with them.
pub(crate) fn run(ws: &Workspace, args: &ProveArgs) -> Result<()> {
    let all = table::load(&ws.root)?;
    let faults: Vec<Fault> = all.into_iter().filter(|f| args.chooses(f)).collect();
    ensure!(!faults.is_empty(), "no fault matches; see {TABLE}");
    let nets = Nets::new(ws, &faults)?;
    let mut passed: Vec<String> = Vec::new();
    for fault in &faults {
        let net = planted::Fault::net(fault);
        if passed.contains(&net) {
            continue;
        }
        println!("prove: {net}, without a fault");
        let verdict = nets.run(fault, false)?;
        ensure!(
            verdict == Verdict::Passed,
            "{net} does not pass without a fault: {verdict:?}"
        );
        passed.push(net);
    }
    planted::try_all("prove", &faults, |fault| {
        let verdict = nets.run(fault, true)?;
        Ok(Outcome::of(
            verdict,
            fault.test.as_deref().unwrap_or("soak"),
        ))
    })?;
    for fault in &faults {
        println!("- {}: {}", fault.name, fault.what);
    }
    Ok(())
}
