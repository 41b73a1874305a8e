//! ndarray with its feature `rayon`.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis, Zip, s};

use crate::{Failure, checksum, number};

const SIZE: usize = 700;

fn bits(array: &Array2<f64>) -> u64 {
    checksum(array.iter().flat_map(|value| value.to_bits().to_le_bytes()))
}

pub(crate) fn run() -> Result<(), Failure> {
    let start = |row: usize, column: usize| number((row * SIZE + column) as u64) as f64 / 1e18;
    let mut array = Array2::from_shape_fn((SIZE, SIZE), |(row, column)| start(row, column));
    array.par_mapv_inplace(|value| value.sqrt() + 1.0);
    println!("par_mapv_inplace {:016x}", bits(&array));
    array.par_map_inplace(|value| *value = value.recip());
    println!("par_map_inplace {:016x}", bits(&array));

    let other = array.t().to_owned();
    let mut product = Array2::zeros((SIZE, SIZE));
    Zip::from(&mut product)
        .and(&array)
        .and(&other)
        .par_for_each(|product, one, other| *product = one * other);
    println!("par_for_each {:016x}", bits(&product));

    let sums = Zip::from(product.rows()).par_map_collect(|row| row.sum());
    let sums = sums.into_shape_with_order((SIZE, 1))?;
    println!("par_map_collect {:016x}", bits(&sums));

    // Every third column: rows are not contiguous.
    let mut part = product.slice_mut(s![.., ..;3]);
    part.axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .for_each(|(row, mut values)| values += row as f64);
    println!("axis_iter_mut {:016x}", bits(&product));

    let count = Zip::from(&product).par_fold(
        || 0_usize,
        |count, value| count + usize::from(*value > 1.0),
        |one, other| one + other,
    );
    println!("par_fold {count}");
    Ok(())
}
