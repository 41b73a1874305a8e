//! Children that are done at once, beside calls of their futures.

use std::hint::black_box;

use super::EagerSpawner;
use crate::spawn::{Contender, Spawner};

/// Children of a turn: fewer than an executor polls at their spawns.
pub const TURN: u64 = 100;

/// An output with a size.
async fn number(number: u64) -> u64 {
    black_box(number)
}

/// An output without one.
async fn nothing(number: u64) {
    black_box(number);
}

/// A task spawns and awaits [`TURN`] eager children, one after the other.
pub fn eager_children<C: Contender<Spawner: EagerSpawner>>(
    contender: C,
    with_output: bool,
) -> impl FnMut() {
    let spawner = contender.spawner();
    move || {
        contender.run(spawner.spawn(async move {
            for child in 0..TURN {
                if with_output {
                    black_box(spawner.spawn_eager(number(child)).await);
                } else {
                    spawner.spawn_eager(nothing(child)).await;
                }
            }
        }));
    }
}

/// A task awaits the same futures itself.
pub fn called_children<C: Contender>(contender: C, with_output: bool) -> impl FnMut() {
    let spawner = contender.spawner();
    move || {
        contender.run(spawner.spawn(async move {
            for child in 0..TURN {
                if with_output {
                    black_box(number(child).await);
                } else {
                    nothing(child).await;
                }
            }
        }));
    }
}
