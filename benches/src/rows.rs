//! The rows of a layer's criterion program.

use std::fmt::Display;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion};
use terrace_sync::barriers;

/// Registers rows called `layer/workload/contender/param`.
pub struct Rows<'c> {
    criterion: &'c mut Criterion,
    layer: &'static str,
}

impl<'c> Rows<'c> {
    /// The rows of `layer`.
    pub fn new(criterion: &'c mut Criterion, layer: &'static str) -> Self {
        Self { criterion, layer }
    }

    /// One row. `build` makes the closure whose calls are measured. It is called only if the row is selected. Its
    /// closure is dropped before the next row begins.
    ///
    /// Prints how many barriers Terrace has asked the system for in a call, warm-up included.
    pub fn row<J: FnMut()>(
        &mut self,
        workload: &str,
        contender: &str,
        param: impl Display,
        build: impl FnOnce() -> J,
    ) {
        let mut group = self
            .criterion
            .benchmark_group(format!("{}/{workload}", self.layer));
        let (mut build, mut job) = (Some(build), None);
        let (mut calls, before) = (0, barriers());
        // Criterion calls this closure once a sample.
        group.bench_function(BenchmarkId::new(contender, param), |bencher| {
            let job = job.get_or_insert_with(|| (build.take().expect("built once"))());
            bencher.iter_custom(|iterations| {
                calls += iterations;
                let start = Instant::now();
                for _ in 0..iterations {
                    job();
                }
                start.elapsed()
            });
        });
        group.finish();
        if calls > 0 {
            let each = (barriers() - before) as f64 / calls as f64;
            println!("barriers an iteration: {each}");
        }
    }
}
