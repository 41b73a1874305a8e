//! How a comparison was measured, for all reports.

use super::model::{Comparison, Side};
use super::units::{NONE, percent};
use super::words::effort;

/// Names and values.
pub(super) fn conditions(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let settings = &comparison.settings;
    let machine = &comparison.machine;
    let side = |side: &Side| {
        let changed = if side.dirty {
            ", with changes in no commit"
        } else {
            ""
        };
        let args = if side.args.is_empty() {
            String::new()
        } else {
            format!(", built with {}", side.args.join(" "))
        };
        format!("{} ({}{changed}){args}", side.name, side.commit)
    };
    let load = if machine.load_before.is_finite() {
        format!("{:.2}", machine.load_before)
    } else {
        NONE.to_owned()
    };
    let metrics: Vec<&str> = settings.metrics.iter().map(|m| m.name()).collect();
    let fail_on: Vec<&str> = settings.fail_on.iter().map(|m| m.name()).collect();
    let mut list = vec![
        ("BASE", side(&comparison.base)),
        ("HEAD", side(&comparison.head)),
        ("finished", comparison.created.clone()),
        ("measured", metrics.join(", ")),
        ("fails on", fail_on.join(", ")),
        ("effort", effort(comparison)),
        (
            "a run",
            format!(
                "{} ms after {} ms of warm-up",
                settings.time_ms, settings.warm_up_ms
            ),
        ),
        ("threshold", percent(settings.threshold)),
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("load before", load),
        ("system", machine.os.clone()),
        ("compiler", machine.rustc.clone()),
    ];
    if !settings.layers.is_empty() {
        list.push(("layers", settings.layers.join(", ")));
    }
    if let Some(filter) = &settings.filter {
        list.push(("filter", filter.clone()));
    }
    let flags = [
        (settings.aa, "BASE against itself"),
        (settings.strict, "noise fails"),
        (settings.require_all, "missing benches fail"),
        (comparison.resumed, "resumed"),
    ];
    let flags: Vec<&str> = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
    if !flags.is_empty() {
        list.push(("also", flags.join(", ")));
    }
    list
}
