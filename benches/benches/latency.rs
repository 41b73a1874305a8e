//! Percentiles of the time from a wake to the woken task's poll: no criterion program, `cargo xtask bench --latency`
//! runs it.
//!
//! `--ids` lists the rows, `--id ID --samples N` runs one and prints its percentiles in nanoseconds as JSON, `--test`
//! runs all with few samples. Called otherwise, as by `cargo bench`, it does nothing.

use std::process::ExitCode;

use terrace_benches::latency::{
    behind_poll, busy_pool, by_other_thread, by_owner, idle_pool, percentile,
};
use terrace_benches::spawn::Contender;
use terrace_benches::{executor, local};

/// Wakes of a row with `--test`.
const FEW: usize = 20;
/// Workers of the pool in which a task is woken behind a long poll.
const TWO: usize = 2;
/// Workers of the pools.
const WORKERS: [usize; 3] = [1, 2, 4];

struct Row {
    id: String,
    run: Box<dyn Fn(usize) -> Vec<u64>>,
}

fn row(id: String, run: impl Fn(usize) -> Vec<u64> + 'static) -> Row {
    let run = Box::new(run);
    Row { id, run }
}

fn of_local<C: Contender>(rows: &mut Vec<Row>) {
    let name = C::NAME;
    rows.push(row(format!("local/wake_owner/{name}/1"), by_owner::<C>));
    rows.push(row(
        format!("local/wake_foreign/{name}/t2"),
        by_other_thread::<C>,
    ));
}

fn of_pool<C: Contender>(rows: &mut Vec<Row>) {
    let name = C::NAME;
    for workers in WORKERS {
        rows.push(row(
            format!("executor/wake_idle/{name}/t{workers}"),
            move |samples| idle_pool::<C>(workers, samples),
        ));
        rows.push(row(
            format!("executor/wake_busy/{name}/t{workers}"),
            move |samples| busy_pool::<C>(workers, samples),
        ));
    }
    rows.push(row(
        format!("executor/woken_behind_poll/{name}/t{TWO}"),
        |samples| behind_poll::<C>(TWO, samples),
    ));
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    of_local::<local::Local>(&mut rows);
    of_local::<local::StaticLocal>(&mut rows);
    of_local::<local::AsyncExecutor>(&mut rows);
    of_local::<local::AsyncExecutorStatic>(&mut rows);
    of_local::<local::TokioLocal>(&mut rows);
    of_pool::<executor::Executor>(&mut rows);
    of_pool::<executor::StaticExecutor>(&mut rows);
    of_pool::<executor::ExecutorRun>(&mut rows);
    of_pool::<executor::StaticExecutorRun>(&mut rows);
    of_pool::<executor::AsyncExecutor>(&mut rows);
    of_pool::<executor::AsyncExecutorStatic>(&mut rows);
    of_pool::<executor::Tokio>(&mut rows);
    rows
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--ids"] => rows().iter().for_each(|row| println!("{}", row.id)),
        ["--test", ..] => {
            for row in rows() {
                println!("Testing {}", row.id);
                assert_eq!((row.run)(FEW).len(), FEW);
            }
        }
        ["--id", id, "--samples", samples] => {
            let (Some(row), Ok(samples)) = (
                rows().into_iter().find(|row| row.id == id),
                samples.parse::<std::num::NonZeroUsize>(),
            ) else {
                eprintln!("there is no row `{id}`, or `{samples}` is no number of wakes above 0");
                return ExitCode::FAILURE;
            };
            let mut times = (row.run)(samples.get());
            let [p50, p90, p99] = [50, 90, 99].map(|percent| percentile(&mut times, percent));
            println!(r#"{{"p50":{p50},"p90":{p90},"p99":{p99}}}"#);
        }
        _ => {}
    }
    ExitCode::SUCCESS
}
