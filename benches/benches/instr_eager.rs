//! Instructions of eager children and of their peers under callgrind: the owner alone.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::eager::{
    Await, Calls, Futures, Leaf, LocalJoinSet, Started, Way, called_children, eager_children, tree,
    tree_of_futures,
};
use terrace_benches::executor::StaticExecutorAlone;
use terrace_benches::local::{AsyncExecutor, StaticLocal, TokioLocal};
use terrace_benches::spawn::Contender;

/// Ours, with children that are awaited by their handles, or by a group.
fn ours<const GROUP: bool>(way: Way) -> Job
where
    Started<<StaticLocal as Contender>::Spawner, GROUP>: terrace_benches::eager::Join,
{
    warm(tree(
        StaticLocal::new(1),
        move |by| Started::<_, GROUP>(by, way),
        Leaf::None,
    ))
}

#[library_benchmark]
#[bench::queued__6x6(ours::<false>(Way::Queued))]
#[bench::eager_woken__6x6(ours::<false>(Way::Woken))]
#[bench::eager__6x6(ours::<false>(Way::Inline))]
#[bench::group_queued__6x6(ours::<true>(Way::Queued))]
#[bench::group_eager_woken__6x6(ours::<true>(Way::Woken))]
#[bench::group_eager__6x6(ours::<true>(Way::Inline))]
#[bench::async_executor__6x6(warm(tree(AsyncExecutor::new(1), Await, Leaf::None)))]
#[bench::tokio__6x6(warm(tree(TokioLocal::new(1), |_| LocalJoinSet, Leaf::None)))]
#[bench::futures__6x6(warm(tree_of_futures(Futures, Leaf::None)))]
#[bench::calls__6x6(warm(tree_of_futures(Calls, Leaf::None)))]
fn async_tree_none(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::eager__100(warm(eager_children(StaticLocal::new(1), true)))]
#[bench::calls__100(warm(called_children(StaticLocal::new(1), true)))]
#[bench::eager__100_unit(warm(eager_children(StaticLocal::new(1), false)))]
#[bench::calls__100_unit(warm(called_children(StaticLocal::new(1), false)))]
fn child(mut job: Job) -> Job {
    job();
    job
}

#[library_benchmark]
#[bench::eager__100(warm(eager_children(StaticExecutorAlone::new(0), true)))]
#[bench::calls__100(warm(called_children(StaticExecutorAlone::new(0), true)))]
#[bench::eager__100_unit(warm(eager_children(StaticExecutorAlone::new(0), false)))]
#[bench::calls__100_unit(warm(called_children(StaticExecutorAlone::new(0), false)))]
fn child_in_a_run(mut job: Job) -> Job {
    job();
    job
}

library_benchmark_group!(
    name = rows,
    benchmarks = [async_tree_none, child, child_in_a_run]
);
main!(library_benchmark_groups = [rows]);
