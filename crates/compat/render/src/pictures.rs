//! The camera, what it renders into, and the pixels of frames.

use std::path::Path;

use bevy::camera::RenderTarget;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::render_resource::TextureFormat;
use bevy::render::view::Msaa;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};

use crate::mix;

/// Few pixels: a software driver takes its time for each, whatever schedules the systems.
const WIDTH: u32 = 160;
const HEIGHT: u32 = 90;

/// Makes the camera and keeps what it has seen.
pub(crate) struct PicturesPlugin;

impl Plugin for PicturesPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn);
    }
}

#[derive(Resource)]
struct Pictures {
    target: Handle<Image>,
    /// Of each captured frame its number and its pixels, once they have come back.
    frames: Vec<(usize, Option<u64>)>,
    last: Option<Image>,
}

fn spawn(mut commands: Commands, mut images: ResMut<Assets<Image>>) {
    let format = TextureFormat::Rgba8UnormSrgb;
    let target = images.add(Image::new_target_texture(WIDTH, HEIGHT, format, None));
    commands.spawn((
        Camera3d::default(),
        RenderTarget::Image(target.clone().into()),
        Msaa::Off,
        Tonemapping::None,
        Transform::from_xyz(0.0, 14.0, 19.0).looking_at(Vec3::new(0.0, 0.0, 1.0), Vec3::Y),
    ));
    commands.insert_resource(Pictures {
        target,
        frames: Vec::new(),
        last: None,
    });
}

/// Asks for the pixels of the next frame.
pub(crate) fn capture(world: &mut World, number: usize) {
    let mut pictures = world.resource_mut::<Pictures>();
    pictures.frames.push((number, None));
    let target = pictures.target.clone();
    let mut entity = world.spawn(Screenshot::image(target));
    entity.observe(
        move |captured: On<ScreenshotCaptured>, mut pictures: ResMut<Pictures>| {
            pictures.add(number, &captured.image);
        },
    );
}

impl Pictures {
    fn add(&mut self, number: usize, image: &Image) {
        let pixels = image.data.iter().flatten();
        let hash = pixels.fold(0, |hash, &byte| mix(hash, byte.into()));
        let is_last = self.frames.last().is_some_and(|(last, _)| *last == number);
        if is_last {
            self.last = Some(image.clone());
        }
        let frame = self.frames.iter_mut().find(|(frame, _)| *frame == number);
        if let Some((_, pixels)) = frame {
            *pixels = Some(hash);
        }
    }
}

/// Whether the pixels of all captured frames are here.
pub(crate) fn are_complete(world: &World) -> bool {
    let frames = &world.resource::<Pictures>().frames;
    frames.iter().all(|(_, pixels)| pixels.is_some())
}

/// How many frames were captured, and all of their pixels.
pub(crate) fn fingerprint(world: &World) -> String {
    let frames = &world.resource::<Pictures>().frames;
    let all = frames.iter().filter_map(|(_, pixels)| *pixels);
    format!("images {} {:016x}", frames.len(), all.fold(0, mix))
}

/// Writes the last one as a file.
pub(crate) fn save(world: &World, dir: &Path) -> Result<(), String> {
    let last = world.resource::<Pictures>().last.clone();
    let last = last.ok_or("no frame was captured")?.try_into_dynamic();
    let last = last.map_err(|error| error.to_string())?.to_rgb8();
    let path = dir.join("frame.png");
    let saved = last.save(&path);
    saved.map_err(|error| format!("{}: {error}", path.display()))
}
