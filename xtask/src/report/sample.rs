//! Comparisons for the tests of the renderers: plausible ones, and the extremes.

use super::model::{Bench, Comparison, Estimate, Failed, Metric, Outcome, Verdict};

/// A comparison on two cores.
const SAMPLE: &str = include_str!("sample.json");

/// A comparison of so many benches; from some number on they are alike but for their ids.
pub(super) fn comparison(amount: usize) -> Comparison {
    let mut comparison: Comparison = serde_json::from_str(SAMPLE).expect("it has the form");
    let known = std::mem::take(&mut comparison.benches);
    let copy = |copy: usize| {
        let named = move |bench: &Bench| match copy {
            0 => bench.clone(),
            _ => Bench {
                id: format!("{}-{copy}", bench.id),
                ..bench.clone()
            },
        };
        known.iter().map(named)
    };
    comparison.benches = (0..).flat_map(copy).take(amount).collect();
    let benches = &mut comparison.benches;
    benches.sort_by(|a, b| (&a.layer, &a.id).cmp(&(&b.layer, &b.id)));
    let layers = &mut comparison.layers;
    layers.retain(|mean| benches.iter().any(|bench| bench.layer == mean.layer));
    let regressed = |bench: &Bench| bench.gated && bench.has(Verdict::Slower);
    if !benches.iter().any(regressed) {
        comparison.outcome = Outcome::Pass;
    }
    comparison
}

/// Everything that can go wrong at once: hostile names, huge and missing figures, failures.
pub(super) fn extreme() -> Comparison {
    let mut comparison = comparison(24);
    comparison.benches[0].id = "queue/<b>&\"quoted\"|`ticks`/'\u{7}\u{e9}".to_owned();
    comparison.benches[1].id = format!("executor/{}/terrace/1", "very-long-name-".repeat(12));
    comparison.benches[2].id = "executor/]]>--><script>alert(1)</script>".to_owned();
    let result = |bench: &mut Bench, ratio: f64| {
        for result in &mut bench.results {
            result.judgement.ratio = Estimate {
                value: ratio,
                low: ratio * 0.5,
                high: ratio * 2.0,
            };
            result.head = result.base * ratio;
            result.rounds = vec![ratio; 15];
        }
    };
    result(&mut comparison.benches[3], 50.0);
    result(&mut comparison.benches[4], 0.02);
    result(&mut comparison.benches[5], f64::NAN);
    result(&mut comparison.benches[6], f64::INFINITY);
    result(&mut comparison.benches[7], 0.0);
    for result in &mut comparison.benches[8].results {
        result.rounds = Vec::new();
        result.aa_rounds = vec![f64::NAN, 1.0, f64::INFINITY, -1.0];
        result.judgement.floor = f64::NAN;
        result.judgement.threshold = f64::INFINITY;
    }
    comparison.benches[9].results.clear();
    comparison.layers[0].mean.value = f64::NAN;
    comparison.layers[1].layer = "a<layer>".to_owned();
    comparison.base.name = "feature/<x>&y's \"branch\"".to_owned();
    comparison.machine.load_before = f64::NAN;
    comparison.machine.cpu = "R&D <cpu>".to_owned();
    comparison.settings.filter = Some("a|b<c>".to_owned());
    comparison.settings.layers = vec!["queue".to_owned(), "fork".to_owned()];
    comparison.added = vec!["fork/new<one>/terrace/1".to_owned()];
    comparison.removed = (0..40).map(|n| format!("fork/old|{n}/terrace/1")).collect();
    comparison.failed = vec![Failed {
        id: "fork/panics/terrace".to_owned(),
        message: "thread 'main' panicked at <here> & there".to_owned(),
    }];
    comparison.harness_changed = true;
    comparison.resumed = true;
    comparison.warnings = vec!["the load was 7.5 <before> measuring & is high".to_owned()];
    comparison
}

/// Sizes and shapes that every renderer must bear, each with a name.
pub(super) fn all() -> Vec<(&'static str, Comparison)> {
    let mut identical = comparison(12);
    for bench in &mut identical.benches {
        bench.identical = true;
        bench.results.clear();
    }
    identical.layers.clear();
    identical.outcome = Outcome::Pass;
    let mut instructions = comparison(6);
    instructions.settings.metrics = vec![Metric::Instr];
    instructions.settings.fail_on = vec![Metric::Instr];
    for bench in &mut instructions.benches {
        bench.results.truncate(1);
        for result in &mut bench.results {
            result.metric = Metric::Instr;
        }
    }
    instructions.layers.clear();
    let mut unmeasured = comparison(0);
    unmeasured.settings.metrics.clear();
    unmeasured.outcome = Outcome::Failed;
    vec![
        ("none", comparison(0)),
        ("one", comparison(1)),
        ("usual", comparison(42)),
        ("many", comparison(300)),
        ("identical", identical),
        ("instructions", instructions),
        ("unmeasured", unmeasured),
        ("extreme", extreme()),
    ]
}
