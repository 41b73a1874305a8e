//! The app on the published crate and on ours, process by process in turn.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::DemoArgs;
use super::figures::Figures;
use crate::compat::registry::BEVY_TASKS;
use crate::compat::sides::{OPTIMISED, Side};
use crate::measure::machine::origin;
use crate::process::printed;
use crate::report::frames::{Comparison, SideFrames};
use crate::report::units::counted;
use crate::report::{self, frames, schedules};
use crate::workspace::Workspace;

/// How long a process may take: a loaded machine is slow.
const LIMIT_A_FRAME: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(120);

/// Builds both, runs them and writes the page.
pub(super) fn run(ws: &Workspace, args: &DemoArgs) -> Result<()> {
    let origin = origin(ws);
    let programs = Side::both(|side| side.program(ws, "demo", &[BEVY_TASKS], OPTIMISED))?;
    let [stock, ours] = in_turn(args.rounds, |side| {
        let mut command = Command::new(&programs[side]);
        command.args(args.words());
        command.args(["--pipelined", "--figures"]);
        figures(command, args.frames)
    })?;
    let comparison = Comparison {
        origin,
        what: format!(
            "{} frames of {} particles, drawn in a second world, in each of {} a side",
            args.frames,
            args.entities,
            counted(args.rounds as usize, "process", "processes")
        ),
        sides: [
            SideFrames::of(Side::Stock.name(), &stock),
            SideFrames::of(Side::Ours.name(), &ours),
        ],
        schedules: schedules::timed([&stock, &ours])?,
    };
    let page = ws.target.join("versus.html");
    show(&comparison, args.out.as_deref().unwrap_or(&page))
}

/// Runs as many processes of each side, which have to compute the same. `process` gets the number of the side in [`Side::BOTH`].
pub(crate) fn in_turn(
    rounds: u32,
    process: impl Fn(usize) -> Result<Figures>,
) -> Result<[Vec<Figures>; 2]> {
    let mut all = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            all[side].push(process(side)?);
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    same(&all)?;
    Ok(all)
}

/// What a process says, which runs this many frames.
pub(crate) fn figures(command: Command, frames: u32) -> Result<Figures> {
    let name = command.get_program().display().to_string();
    let figures = Figures::parse(&printed(command, LIMIT + LIMIT_A_FRAME * frames)?)?;
    ensure!(
        figures.frames.len() == frames as usize,
        "{name} counts {} frames and not {frames}",
        figures.frames.len(),
    );
    Ok(figures)
}

/// Prints the table and writes the page.
pub(crate) fn show(comparison: &Comparison, page: &Path) -> Result<()> {
    println!("{}", frames::text(comparison));
    report::write(page, &frames::page(comparison))?;
    println!("wrote {}", page.display());
    Ok(())
}

/// Fails unless all processes have computed the same.
fn same(sides: &[Vec<Figures>; 2]) -> Result<()> {
    let first = sides[0].first().context("nothing was run")?;
    for (side, all) in Side::BOTH.iter().zip(sides) {
        for figures in all {
            ensure!(
                figures.fingerprint == first.fingerprint,
                "the app computes `{}` on stock and `{}` on {}",
                first.fingerprint,
                figures.fingerprint,
                side.name()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::same;
    use crate::demo::figures::Figures;

    #[test]
    fn other_results_are_an_error() {
        let of = |fingerprint: &str| Figures {
            frames: vec![1.0],
            cpu: 1.0,
            startup: 1.0,
            threads: 1,
            fingerprint: fingerprint.to_owned(),
            schedules: Vec::new(),
        };
        assert!(same(&[vec![of("a")], vec![of("a")]]).is_ok());
        let error = same(&[vec![of("a"), of("a")], vec![of("b")]]).expect_err("they differ");
        assert_eq!(
            error.to_string(),
            "the app computes `a` on stock and `b` on ours"
        );
    }
}
