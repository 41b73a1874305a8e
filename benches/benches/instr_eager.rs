//! Instructions of eager children and of their peers under callgrind: the owner alone.

#![expect(
    missing_docs,
    non_snake_case,
    reason = "gungraun's macros make items; the parts of their names are separated by two underscores"
)]

use gungraun::{library_benchmark, library_benchmark_group, main};
use terrace_benches::counted::{Job, warm};
use terrace_benches::eager::{
    Await, Calls, Futures, Leaf, LocalJoinSet, Started, Way, tree, tree_of_futures,
};
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

library_benchmark_group!(name = rows, benchmarks = [async_tree_none]);
main!(library_benchmark_groups = [rows]);
