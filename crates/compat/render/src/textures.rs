//! The textures: patterns that the app writes as files, for the asset server to load.

use std::path::Path;

use bevy::asset::RenderAssetUsages;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

/// How many there are.
pub(crate) const AMOUNT: usize = 8;
/// Pixels along a side.
const SIZE: u32 = 64;

/// The name of a texture's file.
pub(crate) fn name(number: usize) -> String {
    format!("texture-{number}.png")
}

/// Writes all of them.
pub(crate) fn write(dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for number in 0..AMOUNT {
        let path = dir.join(name(number));
        let picture = pattern(number).try_into_dynamic();
        let picture = picture.map_err(|error| error.to_string())?;
        let saved = picture.save(&path);
        saved.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Checks in one of the colours; each texture has checks of another width.
fn pattern(number: usize) -> Image {
    let width = 4 << (number % 3);
    let channel = |bit: usize, is_light: bool| match (number >> bit) % 2 {
        0 if is_light => 250,
        0 => 120,
        _ if is_light => 130,
        _ => 40,
    };
    let mut data = Vec::new();
    for at in 0..SIZE * SIZE {
        let is_light = (at / SIZE / width + at % SIZE / width).is_multiple_of(2);
        data.extend((0..3).map(|bit| channel(bit, is_light)));
        data.push(255);
    }
    let size = Extent3d {
        width: SIZE,
        height: SIZE,
        depth_or_array_layers: 1,
    };
    let (dimension, format) = (TextureDimension::D2, TextureFormat::Rgba8UnormSrgb);
    Image::new(size, dimension, data, format, RenderAssetUsages::default())
}
