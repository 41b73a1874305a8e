//! Acts that make tasks: of all kinds of lives, in all ways.

use std::future::Future;

use terrace_executor::Current;
use terrace_sync::Arc;

use super::Actor;
use crate::futures::{armed_life, life, never, panicking_life};

impl Actor {
    pub(super) fn life(&mut self) -> impl Future<Output = u32> + Send + use<> {
        life(
            self.ledger.open("life"),
            self.counter.clone(),
            self.random.split(),
        )
    }

    pub(super) fn spawn(&mut self) {
        let life = self.life();
        let task = self.executor().spawn(life);
        self.tasks.push(task);
    }

    pub(super) fn spawn_detached(&mut self) {
        for _ in 0..1 + self.random.below(8) {
            let life = self.life();
            self.executor().spawn(life).detach();
        }
    }

    pub(super) fn spawn_batch(&mut self) {
        let lives: Vec<_> = (0..self.random.below(40)).map(|_| self.life()).collect();
        let executor = self.executor();
        executor.spawn_many(lives, &mut self.tasks);
    }

    pub(super) fn spawn_inside(&mut self) {
        let executor = self.executor();
        let lives: Vec<_> = (0..self.random.below(20)).map(|_| self.life()).collect();
        let (weak, account) = (Arc::downgrade(&executor), self.ledger.open("spawn_inside"));
        let (spawner, by) = (executor.spawner(), self.random.below(3));
        let parent = async move {
            let children: Vec<_> = match (by, weak.upgrade()) {
                (0, Some(own)) => lives.into_iter().map(|life| own.spawn(life)).collect(),
                // The executor is being dropped: the lives are, too.
                (0, None) => Vec::new(),
                (1, _) => lives.into_iter().map(|life| spawner.spawn(life)).collect(),
                // A thread that ticks polls the task as that of no executor.
                _ => {
                    let own = Current::spawner().unwrap_or(spawner);
                    lives.into_iter().map(|life| own.spawn(life)).collect()
                }
            };
            let mut sum = 0;
            for child in children {
                sum += account.child_of_own(child, "spawn_inside").await;
            }
            account.finish();
            sum
        };
        let task = executor.spawn(parent);
        self.tasks.push(task);
    }

    pub(super) fn spawn_endless(&mut self) {
        let (account, counter) = (self.ledger.open("spawn_endless"), self.counter.clone());
        let endless = async move {
            let _account = account;
            never(counter).await;
        };
        let task = self.executor().spawn(endless);
        match self.random.below(3) {
            0 => task.detach(),
            1 => drop(task),
            _ => {
                let executor = self.executor();
                executor.spawn(task.cancel()).detach();
            }
        }
    }

    pub(super) fn spawn_panicking(&mut self) {
        let life = panicking_life(
            self.ledger.open("spawn_panicking"),
            self.counter.clone(),
            self.random.split(),
        );
        self.spawn_and_perhaps_keep(life);
    }

    pub(super) fn spawn_armed(&mut self) {
        let life = armed_life(
            self.ledger.open("spawn_armed"),
            self.counter.clone(),
            self.random.split(),
        );
        self.spawn_and_perhaps_keep(life);
    }

    fn spawn_and_perhaps_keep(&mut self, life: impl Future<Output = u32> + Send + 'static) {
        let task = self.executor().spawn(life);
        if self.random.once_in(2) {
            task.detach();
        } else {
            self.tasks.push(task);
        }
    }
}
