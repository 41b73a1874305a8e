//! Two loops, one of which gets longer.

use std::hint::black_box;

use code::TURNS;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

fn turn(turns: u32) -> u64 {
    let mut state = black_box(1_u64);
    for _ in 0..turns {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    state
}

fn spin(criterion: &mut Criterion) {
    for (name, turns) in [("spin/changed", TURNS), ("spin/unchanged", 10_000)] {
        let mut group = criterion.benchmark_group(name);
        group.bench_function(BenchmarkId::new("loop", 1), |b| b.iter(|| turn(turns)));
        group.finish();
    }
}

criterion_group!(benches, spin);
criterion_main!(benches);
