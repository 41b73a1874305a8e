//! oxipng: it filters and compresses an image in several ways at once, and keeps the smallest.

use oxipng::{BitDepth, ColorType, Options, RawImage, optimize_from_memory};

use crate::{Failure, checksum, number};

const WIDTH: u32 = 200;
const HEIGHT: u32 = 150;

/// The pixels of an image: a slope in each colour, with some noise.
fn pixels(noise: u64) -> Vec<u8> {
    let pixel = |place: u32| {
        let (x, y) = (place % WIDTH, place / WIDTH);
        let noise = number(u64::from(place)) % (noise + 1);
        [x + y, x / 2, y, 255].map(|value| (u64::from(value) + noise) as u8)
    };
    (0..WIDTH * HEIGHT).flat_map(pixel).collect()
}

pub(crate) fn run() -> Result<(), Failure> {
    for noise in [0, 3, 200] {
        let image = RawImage::new(
            WIDTH,
            HEIGHT,
            ColorType::RGBA,
            BitDepth::Eight,
            pixels(noise),
        )?;
        for preset in [0, 2, 4] {
            let options = Options::from_preset(preset);
            let png = image.create_optimized_png(&options)?;
            let again = optimize_from_memory(&png, &options)?;
            println!(
                "noise {noise}, preset {preset}: {} bytes, {:016x}; again {} bytes, {:016x}",
                png.len(),
                checksum(png.iter().copied()),
                again.len(),
                checksum(again.iter().copied()),
            );
        }
    }
    Ok(())
}
