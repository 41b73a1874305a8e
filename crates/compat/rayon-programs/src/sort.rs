//! rayon itself.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::{Failure, checksum, number};

const ITEMS: u64 = 300_000;

fn sum_of(numbers: &[u64]) -> u64 {
    checksum(numbers.iter().flat_map(|number| number.to_le_bytes()))
}

pub(crate) fn run() -> Result<(), Failure> {
    let numbers: Vec<u64> = (0..ITEMS).into_par_iter().map(number).collect();
    println!("collect {:016x}", sum_of(&numbers));
    let (mut stable, mut unstable) = (numbers.clone(), numbers.clone());
    rayon::join(
        || stable.par_sort_by_key(|number| number % 1_000),
        || unstable.par_sort_unstable(),
    );
    println!("sorts {:016x} {:016x}", sum_of(&stable), sum_of(&unstable));

    let lengths = Mutex::new(Vec::new());
    rayon::scope(|scope| {
        for part in numbers.chunks(20_000) {
            let lengths = &lengths;
            scope.spawn(move |scope| {
                let most = part.par_iter().max().copied();
                scope.spawn(move |_| {
                    let even = part.par_iter().filter(|number| **number % 2 == 0).count();
                    lengths.lock().expect("no child panics").push((most, even));
                });
            });
        }
    });
    let mut lengths = lengths.into_inner()?;
    lengths.sort();
    println!("scope {lengths:?}");

    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
    let text: String = numbers
        .iter()
        .map(|number| (b'a' + (number % 26) as u8) as char)
        .collect();
    let words: Vec<&str> =
        pool.install(|| text.par_split('e').filter(|word| word.len() > 30).collect());
    println!(
        "split {} {:016x}",
        words.len(),
        checksum(words.concat().bytes())
    );
    let (one, other) = pool.install(|| {
        let halves = numbers.split_at(numbers.len() / 2);
        rayon::join(
            || {
                halves
                    .0
                    .par_windows(3)
                    .filter(|window| window.is_sorted())
                    .count()
            },
            || {
                halves
                    .1
                    .par_iter()
                    .position_any(|number| *number == halves.1[77_777])
            },
        )
    });
    println!("pool {one} {other:?}");
    Ok(())
}
