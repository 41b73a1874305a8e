//! Comparisons for the tests of the renderers: plausible ones, and the extremes.

use super::model::{
    Bench, Comparison, Estimate, Failure, LayerMean, Machine, Metric, MetricResult, Outcome,
    SCHEMA, Settings, Side, Verdict, WORKING_TREE,
};

const THRESHOLD: f64 = 0.05;
const LAYERS: [&str; 6] = ["queue", "park", "local", "thread", "executor", "fork"];
const WORKLOADS: [&str; 6] = [
    "push-pop",
    "remote-idle",
    "remote-busy",
    "spawn-detach",
    "scope/closures",
    "wake-from-another-thread",
];
const CONTENDERS: [&str; 3] = ["terrace", "crossbeam-deque", "async-executor"];

/// A generator with a fixed seed for figures that look measured.
struct Random(u64);

impl Random {
    /// About normal, around 0, mostly within ±1.
    fn bell(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..6).map(|_| uniform() - 0.5).sum()
    }
}

/// One result around a true ratio, with the noise of a round given as a fraction.
fn result(random: &mut Random, metric: Metric, base: f64, truth: f64, noise: f64) -> MetricResult {
    let mut around = |centre: f64, width: f64| (centre.ln() + random.bell() * width).exp();
    let rounds: Vec<f64> = (0..15).map(|_| around(truth, noise)).collect();
    let aa_rounds: Vec<f64> = (0..15).map(|_| around(1.0, noise)).collect();
    let value = (rounds.iter().map(|r| r.ln()).sum::<f64>() / rounds.len() as f64).exp();
    let half = (noise * 0.6).exp();
    let ratio = Estimate {
        value,
        low: value / half,
        high: value * half,
    };
    let floor = noise * 0.7;
    let threshold = floor.max(THRESHOLD);
    let verdict = if ratio.low > 1.0 + threshold {
        Verdict::Slower
    } else if ratio.high < 1.0 / (1.0 + threshold) {
        Verdict::Faster
    } else if half > 1.0 + 2.0 * THRESHOLD {
        Verdict::Unstable
    } else {
        Verdict::Same
    };
    MetricResult {
        metric,
        base,
        head: base * value,
        rounds,
        aa_rounds,
        ratio,
        floor,
        threshold,
        verdict,
    }
}

fn bench(random: &mut Random, number: usize) -> Bench {
    let layer = LAYERS[number % LAYERS.len()];
    let workload = WORKLOADS[number / LAYERS.len() % WORKLOADS.len()];
    let contender = CONTENDERS[number % 7 % CONTENDERS.len()];
    let threads = [1, 2, 1, 4, 2][number % 5];
    let base = 10_f64.powf(1.0 + (number % 11) as f64 * 0.6);
    let truth = match number % 17 {
        3 => 1.21,
        8 => 0.7,
        _ => 1.0 + random.bell() * 0.02,
    };
    let noise = if number % 19 == 5 {
        0.3
    } else {
        0.01 + (number % 23) as f64 * 0.002
    };
    let identical = number % 13 == 12;
    let results = if identical {
        Vec::new()
    } else {
        vec![
            result(random, Metric::Wall, base, truth, noise),
            result(random, Metric::Cpu, base * 1.1, truth.sqrt(), noise / 2.0),
        ]
    };
    Bench {
        id: format!("{layer}/{workload}/{contender}/{}", 1 << (number % 12)),
        layer: layer.to_owned(),
        threads: Some(threads),
        gated: threads <= 2,
        identical,
        results,
    }
}

/// A comparison of so many benches on two cores.
pub(super) fn comparison(amount: usize) -> Comparison {
    let mut random = Random(amount as u64);
    let mut benches: Vec<_> = (0..amount).map(|n| bench(&mut random, n)).collect();
    for (number, bench) in benches
        .iter_mut()
        .enumerate()
        .skip(LAYERS.len() * WORKLOADS.len())
    {
        bench.id += &format!("-{number}");
    }
    benches.sort_by(|a, b| (&a.layer, &a.id).cmp(&(&b.layer, &b.id)));
    let regressed = benches
        .iter()
        .any(|bench| bench.gated && bench.has(Verdict::Slower));
    let outcome = if regressed {
        Outcome::Regression
    } else {
        Outcome::Pass
    };
    Comparison {
        schema: SCHEMA,
        created: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 741.5,
        resumed: false,
        base: Side {
            name: "main".to_owned(),
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            dirty: false,
            args: Vec::new(),
        },
        head: Side {
            name: WORKING_TREE.to_owned(),
            commit: "fedcba9876543210fedcba9876543210fedcba98".to_owned(),
            dirty: true,
            args: vec!["--features=trace".to_owned()],
        },
        machine: Machine {
            cpu: "A processor with two threads @ 2.00GHz".to_owned(),
            cores: 2,
            os: "linux 6.1".to_owned(),
            rustc: "rustc 1.95.0".to_owned(),
            load_before: 0.31,
        },
        settings: Settings {
            rounds: 15,
            warm_up_ms: 100,
            time_ms: 300,
            threshold: THRESHOLD,
            metrics: vec![Metric::Wall, Metric::Cpu],
            fail_on: vec![Metric::Wall, Metric::Cpu],
            aa: false,
            strict: false,
            require_all: false,
            filter: None,
            layers: Vec::new(),
        },
        harness_changed: false,
        layers: means(&benches),
        benches,
        added: Vec::new(),
        removed: Vec::new(),
        failed: Vec::new(),
        warnings: Vec::new(),
        outcome,
    }
}

/// For each layer and metric the mean of the gated benches, with an interval of 1 %.
fn means(benches: &[Bench]) -> Vec<LayerMean> {
    let mut means = Vec::new();
    for layer in LAYERS {
        for metric in [Metric::Wall, Metric::Cpu] {
            let gated = benches.iter().filter(|b| b.gated && b.layer == layer);
            let ratios = gated.filter_map(|b| b.result(metric).map(|r| r.ratio.value));
            let logs: Vec<f64> = ratios.map(f64::ln).collect();
            if logs.is_empty() {
                continue;
            }
            let value = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            means.push(LayerMean {
                layer: layer.to_owned(),
                metric,
                mean: Estimate {
                    value,
                    low: value / 1.01,
                    high: value * 1.01,
                },
                benches: logs.len(),
            });
        }
    }
    means
}

/// Everything that can go wrong at once: hostile names, huge and missing figures, failures.
pub(super) fn extreme() -> Comparison {
    let mut comparison = comparison(24);
    comparison.benches[0].id = "queue/<b>&\"quoted\"|`ticks`/'\u{7}\u{e9}".to_owned();
    comparison.benches[1].id = format!("executor/{}/terrace/1", "very-long-name-".repeat(12));
    comparison.benches[2].id = "executor/]]>--><script>alert(1)</script>".to_owned();
    let result = |bench: &mut Bench, ratio: f64| {
        for result in &mut bench.results {
            result.ratio = Estimate {
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
        result.floor = f64::NAN;
        result.threshold = f64::INFINITY;
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
    comparison.failed = vec![Failure {
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
