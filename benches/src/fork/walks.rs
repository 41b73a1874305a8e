//! What joins do: walks of trees, and the recursions that solve problems, the same code for all pools.

use chili::Scope;
use terrace_executor::Worker;

use super::joins::Node;
use super::problems::{Problem, SERIAL, SIDE, merge, next, row, split, visit};
use super::slices::Slices;

/// The walks of a pool whose place goes from closure to closure.
macro_rules! walks {
    ($walks:ident, $place:ty, |$with:ident, $a:ident, $b:ident| $join:expr) => {
        pub(in crate::fork) mod $walks {
            use super::*;

            pub(in crate::fork) fn tree<const FIRST: usize>(
                $with: $place,
                node: &Node,
                steps: u64,
            ) -> u64 {
                let value = node.visit(steps);
                let Some(children) = &node.children else {
                    return value;
                };
                let $a = |place: $place| tree::<FIRST>(place, &children[FIRST], steps);
                let $b = |place: $place| tree::<FIRST>(place, &children[1 - FIRST], steps);
                let (one, other) = $join;
                value + one + other
            }

            pub(in crate::fork) fn fib($with: $place, number: u64) -> u64 {
                if number < 2 {
                    return number;
                }
                let $a = |place: $place| fib(place, number - 1);
                let $b = |place: $place| fib(place, number - 2);
                let (one, two) = $join;
                one + two
            }

            pub(in crate::fork) fn quicksort($with: $place, items: &mut [u32]) {
                if items.len() <= SERIAL {
                    return items.sort_unstable();
                }
                let (low, high) = split(items);
                let $a = |place: $place| quicksort(place, low);
                let $b = |place: $place| quicksort(place, high);
                $join;
            }

            pub(in crate::fork) fn merge_sort($with: $place, items: &mut [u32], room: &mut [u32]) {
                if items.len() <= SERIAL {
                    return items.sort_unstable();
                }
                let middle = items.len() / 2;
                let (low, high) = items.split_at_mut(middle);
                let (low_room, high_room) = room.split_at_mut(middle);
                let $a = |place: $place| merge_sort(place, low, low_room);
                let $b = |place: $place| merge_sort(place, high, high_room);
                $join;
                merge(items, room, middle);
            }

            pub(in crate::fork) fn matmul(
                $with: $place,
                product: &mut [f32],
                rows: &[f32],
                right: &[f32],
            ) {
                if product.len() == SIDE {
                    return row(product, rows, right);
                }
                let middle = product.len() / SIDE / 2 * SIDE;
                let (upper, lower) = product.split_at_mut(middle);
                let (upper_rows, lower_rows) = rows.split_at(middle);
                let $a = |place: $place| matmul(place, upper, upper_rows, right);
                let $b = |place: $place| matmul(place, lower, lower_rows, right);
                $join;
            }

            pub(in crate::fork) fn unbalanced($with: $place, seed: u64, nodes: u64) -> u64 {
                if nodes == 0 {
                    return 0;
                }
                let value = visit(1, 10);
                let (few, many) = (nodes / 8, nodes - 1 - nodes / 8);
                // On which side the many are changes from node to node.
                let (one, other) = match seed % 2 {
                    0 => (few, many),
                    _ => (many, few),
                };
                let $a = |place: $place| unbalanced(place, next(seed), one);
                let $b = |place: $place| unbalanced(place, next(seed ^ 1), other);
                let (one, other) = $join;
                value + one + other
            }

            pub(in crate::fork) fn halves($with: $place, leaves: u64, steps: u64) -> u64 {
                if leaves == 1 {
                    return visit(1, steps);
                }
                let $a = |place: $place| halves(place, leaves / 2, steps);
                let $b = |place: $place| halves(place, leaves - leaves / 2, steps);
                let (one, other) = $join;
                one + other
            }

            /// Calls `fill` for parts of the items of at most `most` each, with the place of their first.
            pub(in crate::fork) fn parts<T: Send>(
                $with: $place,
                items: &mut [T],
                (first, most): (usize, usize),
                fill: &(impl Fn(usize, &mut [T]) + Sync),
            ) {
                if items.len() <= most {
                    return fill(first, items);
                }
                let middle = items.len() / most / 2 * most;
                let middle = middle.max(most);
                let (low, high) = items.split_at_mut(middle);
                let $a = |place: $place| parts(place, low, (first, most), fill);
                let $b = |place: $place| parts(place, high, (first + middle, most), fill);
                $join;
            }

            fn filled<S: Slices>($with: $place, slices: &mut S) {
                let mut items = std::mem::take(slices.items());
                let most = S::PART;
                parts($with, &mut items, (0, most), &|first, part| {
                    slices.fill(first, part)
                });
                *slices.items() = items;
            }

            pub(in crate::fork) fn solve($with: $place, problem: &mut Problem) {
                match problem {
                    Problem::Quicksort(items) => quicksort($with, items),
                    Problem::MergeSort(items, room) => merge_sort($with, items, room),
                    Problem::Matmul {
                        product,
                        left,
                        right,
                    } => matmul($with, product, left, right),
                    Problem::Unbalanced { nodes, sum } => *sum = unbalanced($with, 1, *nodes),
                    Problem::Sieve(sieve) => filled($with, sieve),
                    Problem::Life(life) => filled($with, life),
                    Problem::Bodies(bodies) => filled($with, bodies),
                    Problem::Halves { leaves, steps, sum } => *sum = halves($with, *leaves, *steps),
                }
            }
        }
    };
}

walks!(ours, &Worker, |worker, a, b| worker.join(a, b));
walks!(chilis, &mut Scope<'_>, |scope, a, b| scope.join(a, b));
#[cfg(terrace_forte)]
walks!(fortes, &forte::Worker, |worker, a, b| worker.join(a, b));
walks!(rayons, (), |_here, a, b| in_rayon(a, b));

fn in_rayon<A: Send, B: Send>(
    a: impl FnOnce(()) -> A + Send,
    b: impl FnOnce(()) -> B + Send,
) -> (A, B) {
    rayon_core::join(|| a(()), || b(()))
}
