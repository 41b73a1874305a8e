//! image with its feature `rayon`: pixels in parallel, and EXR files, whose blocks it compresses on a pool.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, Rgb32FImage, RgbImage};
use rayon::prelude::*;

use crate::{Failure, checksum, number};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 200;

fn pixel(x: u32, y: u32) -> [f32; 3] {
    let noise = number(u64::from(y * WIDTH + x)) % 1_000;
    [x, y, x ^ y].map(|value| value as f32 / 64.0 + noise as f32 / 4_000.0)
}

pub(crate) fn run() -> Result<(), Failure> {
    let mut image = Rgb32FImage::from_par_fn(WIDTH, HEIGHT, |x, y| Rgb(pixel(x, y)));
    image
        .par_pixels_mut()
        .for_each(|pixel| pixel.0.rotate_left(1));
    image
        .par_enumerate_pixels_mut()
        .for_each(|(x, y, pixel)| pixel.0[0] += (x + y) as f32);
    let bright = image.par_pixels().filter(|pixel| pixel.0[1] > 2.0);
    let sum = |image: &Rgb32FImage| checksum(image.iter().flat_map(|value| value.to_le_bytes()));
    println!("{} bright, {:016x}", bright.count(), sum(&image));

    let mut file = Vec::new();
    let whole = DynamicImage::ImageRgb32F(image.clone());
    whole.write_to(&mut Cursor::new(&mut file), ImageFormat::OpenExr)?;
    // Blocks lie in the file in the order in which threads have compressed them.
    println!("exr {} bytes", file.len());
    let again = image::load_from_memory_with_format(&file, ImageFormat::OpenExr)?.into_rgb32f();
    println!("read {:016x}, the same: {}", sum(&again), again == image);

    let small = RgbImage::from_par_fn(WIDTH, HEIGHT, |x, y| {
        Rgb(pixel(x, y).map(|value| value as u8))
    });
    let sharp = image::imageops::unsharpen(&small, 1.5, 1);
    println!("sharp {:016x}", checksum(sharp.iter().copied()));
    Ok(())
}
