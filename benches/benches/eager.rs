//! Eager children, and groups of them: CPython's `async_tree`. Rows without `tN` are of executors of one thread.

use criterion::{Criterion, criterion_group, criterion_main};
use terrace_benches::Rows;
use terrace_benches::eager::{
    Await, Calls, Futures, JoinSet, Leaf, LocalJoinSet, Started, TURN, Way, called_children,
    eager_children, tree, tree_of_futures,
};
use terrace_benches::executor::{StaticExecutor, StaticExecutorAlone, Threads, Tokio};
use terrace_benches::local::{AsyncExecutor, StaticLocal, TokioLocal};
use terrace_benches::spawn::Contender;

/// Ours: the contender, and how it starts a child.
const WAYS: [(&str, &str, Way); 3] = [
    ("queued", "group_queued", Way::Queued),
    ("eager_woken", "group_eager_woken", Way::Woken),
    ("eager", "group_eager", Way::Inline),
];

fn rows(criterion: &mut Criterion) {
    let rows = &mut Rows::new(criterion, "eager");
    for (with_output, param) in [(true, TURN.to_string()), (false, format!("{TURN}-unit"))] {
        rows.row("child", "eager", &param, || {
            eager_children(StaticLocal::new(1), with_output)
        });
        rows.row("child", "calls", &param, || {
            called_children(StaticLocal::new(1), with_output)
        });
        rows.row("child_in_a_run", "eager", &param, || {
            eager_children(StaticExecutorAlone::new(0), with_output)
        });
        rows.row("child_in_a_run", "calls", &param, || {
            called_children(StaticExecutorAlone::new(0), with_output)
        });
    }
    for leaf in Leaf::ALL {
        let workload = leaf.workload();
        let param = "6x6";
        for (handles, group, way) in WAYS {
            rows.row(workload, handles, param, || {
                tree(StaticLocal::new(1), |by| Started::<_, false>(by, way), leaf)
            });
            rows.row(workload, group, param, || {
                tree(StaticLocal::new(1), |by| Started::<_, true>(by, way), leaf)
            });
        }
        rows.row(workload, "async_executor", param, || {
            tree(AsyncExecutor::new(1), Await, leaf)
        });
        rows.row(workload, "tokio", param, || {
            tree(TokioLocal::new(1), |_| LocalJoinSet, leaf)
        });
        rows.row(workload, "futures", param, || {
            tree_of_futures(Futures, leaf)
        });
        if leaf == Leaf::None {
            rows.row(workload, "calls", param, || tree_of_futures(Calls, leaf));
        }
        for workers in [1, 2] {
            let param = format!("6x6-t{workers}");
            for (handles, group, way) in WAYS {
                rows.row(workload, handles, &param, || {
                    tree(
                        StaticExecutor::new(workers),
                        |by| Started::<_, false>(by, way),
                        leaf,
                    )
                });
                rows.row(workload, group, &param, || {
                    tree(
                        StaticExecutor::new(workers),
                        |by| Started::<_, true>(by, way),
                        leaf,
                    )
                });
            }
            rows.row(workload, "tokio", &param, || {
                tree(Tokio::new(workers), JoinSet, leaf)
            });
            rows.row(workload, "async_executor", &param, || {
                tree(
                    Threads::<async_executor::Executor<'static>>::new(workers),
                    Await,
                    leaf,
                )
            });
        }
    }
}

criterion_group!(benches, rows);
criterion_main!(benches);
