//! The ways to run six children: ours, and those of the peers.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_lite::future::yield_now;
use futures_util::stream::{FuturesUnordered, StreamExt};
use terrace_local::{Spawn, TaskGroup};
use tokio::runtime::Runtime;

use super::{Join, Node};
use crate::spawn::Spawner;

/// A handle that spawns eagerly.
pub trait EagerSpawner: Spawner {
    /// Spawns one task, and polls it once.
    fn spawn_eager<T: Send + 'static>(
        self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Self::Task<T>;
}

/// Each child is a task, awaited by its handle.
#[derive(Clone, Copy)]
pub struct Await<S>(pub S);

impl<S: Spawner> Join for Await<S> {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let tasks: Vec<_> = children.map(|child| self.0.spawn(child)).collect();
        for task in tasks {
            task.await;
        }
    }
}

/// How ours starts a child, and how its parent hears of its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The child is queued.
    Queued,
    /// The child is polled at its spawn. Its end wakes the parent, even if that comes at once.
    Woken,
    /// The child is polled at its spawn, and its end is there at once.
    Inline,
}

/// Ours: a child starts in this way, and is awaited by its handle or by a group.
#[derive(Clone, Copy)]
pub struct Started<S, const GROUP: bool>(pub S, pub Way);

impl<S: EagerSpawner> Join for Started<S, false> {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let Self(spawner, way) = self;
        let spawn = |child| match way {
            Way::Queued => spawner.spawn(child),
            Way::Woken | Way::Inline => spawner.spawn_eager(child),
        };
        let tasks: Vec<_> = children.map(spawn).collect();
        for task in tasks {
            match way {
                Way::Queued | Way::Inline => task.await,
                Way::Woken => woken(task).await,
            }
        }
    }
}

/// Awaits a task; one that is done already ends by a wake.
async fn woken(task: impl Future<Output = ()>) {
    let mut task = std::pin::pin!(task);
    let is_done = poll_fn(|context| Poll::Ready(task.as_mut().poll(context).is_ready())).await;
    if is_done {
        yield_now().await;
    } else {
        task.await;
    }
}

/// A child of a group: a node that does not fail.
pub struct Child(Node);

impl Future for Child {
    type Output = Result<(), Infallible>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context).map(Ok)
    }
}

impl<S: EagerSpawner + Spawn<Child>> Join for Started<S, true> {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let Self(spawner, way) = self;
        let mut group = TaskGroup::<S, (), Infallible>::with_capacity(spawner, 6);
        for child in children {
            let child = Child(child);
            match way {
                Way::Queued => group.spawn(child),
                Way::Woken | Way::Inline => group.spawn_eager(child),
            };
        }
        if way == Way::Woken {
            while group.next().await.is_some() {
                yield_now().await;
            }
        }
        let Ok(_) = group.join_all().await;
    }
}

/// `tokio::task::JoinSet` on tokio's pool.
#[derive(Clone, Copy)]
pub struct JoinSet(pub &'static Runtime);

impl Join for JoinSet {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let mut set = tokio::task::JoinSet::new();
        for child in children {
            set.spawn_on(child, self.0.handle());
        }
        while let Some(ended) = set.join_next().await {
            ended.expect("the task ends");
        }
    }
}

/// `tokio::task::JoinSet` on the `LocalSet` that runs.
#[derive(Clone, Copy)]
pub struct LocalJoinSet;

impl Join for LocalJoinSet {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let mut set = tokio::task::JoinSet::new();
        for child in children {
            set.spawn_local(child);
        }
        while let Some(ended) = set.join_next().await {
            ended.expect("the task ends");
        }
    }
}

/// Each child is awaited as it is made: no tasks, and no list. What is left is the tree itself, with its boxes: no contender can
/// need less.
#[derive(Clone, Copy)]
pub struct Calls;

impl Join for Calls {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        for child in children {
            child.await;
        }
    }
}

/// `FuturesUnordered`: no tasks.
#[derive(Clone, Copy)]
pub struct Futures;

impl Join for Futures {
    async fn join(self, children: impl Iterator<Item = Node> + Send) {
        let mut all: FuturesUnordered<_> = children.collect();
        while all.next().await.is_some() {}
    }
}
