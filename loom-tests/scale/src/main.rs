//! Operations of one pool, counted one after the other: `terrace-scale POOL WORKERS`.
//!
//! `cargo xtask scale` builds it instrumented and links it with `terrace-lines`, under `--cfg terrace_lines`. It prints what
//! `lines_end` says of each operation.
#![cfg_attr(
    not(terrace_lines),
    expect(dead_code, reason = "only an instrumented program runs operations")
)]

mod model;
mod operations;
mod pools;

#[cfg(not(terrace_lines))]
fn main() {
    println!("this program counts nothing by itself: `cargo xtask scale` builds and runs it");
}

#[cfg(terrace_lines)]
fn main() {
    let words = Vec::from_iter(std::env::args().skip(1));
    let [pool, workers] = &words[..] else {
        panic!("usage: terrace-scale POOL WORKERS");
    };
    let workers = workers.parse().expect("a number of workers");
    match pool.as_str() {
        "terrace" => {
            let pool = pools::Terrace::new(workers);
            operations::of_tasks(pool, workers);
            operations::of_jobs(pool, workers);
        }
        "async-executor" => operations::of_tasks(pools::AsyncExecutor::new(workers), workers),
        "tokio" => operations::of_tasks(pools::Tokio::new(workers), workers),
        "rayon-core" => {
            let pool = pools::Rayon::new(workers);
            operations::of_starts(pool, workers);
            operations::of_jobs(pool, workers);
        }
        "planted" => operations::planted(pools::Terrace::new(workers), workers),
        other => panic!("there is no pool {other}"),
    }
    // The end of a pool is no operation.
    std::process::exit(0);
}
