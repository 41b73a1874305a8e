//! The rows of a layer's criterion program.

use std::fmt::Display;

use criterion::{BenchmarkId, Criterion};

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
        // Criterion calls this closure once a sample.
        group.bench_function(BenchmarkId::new(contender, param), |bencher| {
            let job = job.get_or_insert_with(|| (build.take().expect("built once"))());
            bencher.iter(job);
        });
        group.finish();
    }
}
