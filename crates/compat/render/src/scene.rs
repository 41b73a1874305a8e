//! The scene: figures of several meshes each, which animation clips move, textured and lit.

use std::f32::consts::TAU;

use bevy::animation::{AnimatedBy, AnimationTargetId, animated_field};
use bevy::prelude::*;

use crate::{mix, textures};

/// Figures stand in rows.
const COLUMNS: usize = 14;
const ROWS: usize = 7;
/// Between two of them.
const DISTANCE: f32 = 2.2;
/// The parts of a figure: its torso, and what hangs on that.
const PARTS: [Part; 4] = [
    Part::new("torso", Shape::Box, [0.0, 0.9, 0.0], [0.8, 1.0, 0.5]),
    Part::new("head", Shape::Ball, [0.0, 0.9, 0.0], [0.5, 0.5, 0.5]),
    Part::new("left", Shape::Box, [-0.7, 0.2, 0.0], [0.3, 0.8, 0.3]),
    Part::new("right", Shape::Box, [0.7, 0.2, 0.0], [0.3, 0.8, 0.3]),
];
/// Clips, of which each figure plays two at a time.
const CLIPS: usize = 4;
/// Seconds of a clip.
const LENGTH: f32 = 1.5;
/// Keyframes of a curve, the last one like the first.
const KEYS: u32 = 9;

#[derive(Clone, Copy)]
enum Shape {
    Box,
    Ball,
}

struct Part {
    name: &'static str,
    shape: Shape,
    place: Vec3,
    size: Vec3,
}

impl Part {
    const fn new(name: &'static str, shape: Shape, place: [f32; 3], size: [f32; 3]) -> Self {
        Self {
            name,
            shape,
            place: Vec3::from_array(place),
            size: Vec3::from_array(size),
        }
    }

    fn target(&self) -> AnimationTargetId {
        AnimationTargetId::from_name(&Name::new(self.name))
    }
}

/// Makes the scene.
pub(crate) struct ScenePlugin;

impl Plugin for ScenePlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, (light, spawn));
    }
}

/// What has to be loaded.
#[derive(Resource)]
struct Textures(Vec<Handle<Image>>);

/// A number that stays with an entity whose transform is looked at.
#[derive(Component)]
struct Numbered(u64);

fn light(mut commands: Commands) {
    let from = Transform::from_xyz(3.0, 8.0, 5.0).looking_at(Vec3::ZERO, Vec3::Y);
    let light = DirectionalLight {
        illuminance: 6_000.0,
        ..default()
    };
    commands.spawn((light, from));
}

fn spawn(
    mut commands: Commands,
    server: Res<AssetServer>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut clips: ResMut<Assets<AnimationClip>>,
    mut graphs: ResMut<Assets<AnimationGraph>>,
) {
    let textures: Vec<_> = (0..textures::AMOUNT)
        .map(|number| server.load(textures::name(number)))
        .collect();
    let material = |texture: &Handle<Image>| StandardMaterial {
        base_color_texture: Some(texture.clone()),
        perceptual_roughness: 0.9,
        ..default()
    };
    let materials: Vec<_> = textures
        .iter()
        .map(|texture| materials.add(material(texture)))
        .collect();
    commands.insert_resource(Textures(textures));
    let cuboid = meshes.add(Cuboid::default());
    let ball = meshes.add(Sphere::new(0.6).mesh().uv(12, 8));
    let clips: Vec<_> = (0..CLIPS).map(|number| clips.add(clip(number))).collect();

    for figure in 0..COLUMNS * ROWS {
        let (column, row) = (figure % COLUMNS, figure / COLUMNS);
        let place = |at: usize, of: usize| (at as f32 - (of - 1) as f32 / 2.0) * DISTANCE;
        let place = Vec3::new(place(column, COLUMNS), 0.0, place(row, ROWS));

        let pair = [0, 1].map(|next| clips[(figure + next) % CLIPS].clone());
        let (graph, nodes) = AnimationGraph::from_clips(pair);
        let mut player = AnimationPlayer::default();
        for node in nodes {
            let active = player.play(node).repeat().set_weight(0.5);
            active.seek_to(figure as f32 * 0.37 % LENGTH);
        }
        let numbered = |part: usize| Numbered((figure * (PARTS.len() + 1) + part) as u64);
        let root = commands.spawn((
            numbered(PARTS.len()),
            Transform::from_translation(place),
            Visibility::default(),
            player,
            AnimationGraphHandle(graphs.add(graph)),
        ));
        let root = root.id();
        let mut parent = root;
        for (number, part) in PARTS.iter().enumerate() {
            let mesh = match part.shape {
                Shape::Box => cuboid.clone(),
                Shape::Ball => ball.clone(),
            };
            let entity = commands.spawn((
                numbered(number),
                Mesh3d(mesh),
                MeshMaterial3d(materials[(figure * 3 + number) % materials.len()].clone()),
                Transform::from_translation(part.place).with_scale(part.size),
                part.target(),
                AnimatedBy(root),
                ChildOf(parent),
            ));
            if number == 0 {
                parent = entity.id();
            }
        }
    }
}

/// Moves every part, each clip in another way.
fn clip(number: usize) -> AnimationClip {
    let mut clip = AnimationClip::default();
    let keys = || (0..KEYS).map(|key| key as f32 / (KEYS - 1) as f32);
    for (at, part) in PARTS.iter().enumerate() {
        let turns = (number + at) as f32;
        let place = |share: f32| {
            let moved = Vec3::new(0.0, (share * TAU + turns).sin() * 0.15, 0.0);
            (share * LENGTH, part.place + moved)
        };
        let turn = |share: f32| {
            let angle = (share * TAU + turns).sin() * 0.9;
            let turn = match at {
                0 => Quat::from_rotation_y(angle),
                1 => Quat::from_rotation_z(angle * 0.3),
                _ => Quat::from_rotation_x(angle),
            };
            (share * LENGTH, turn)
        };
        let size = |share: f32| {
            let grown = 1.0 + (share * TAU * 2.0).cos() * 0.05 * (number + 1) as f32;
            (share * LENGTH, part.size * grown)
        };
        let places = AnimatableKeyframeCurve::new(keys().map(place));
        let turned = AnimatableKeyframeCurve::new(keys().map(turn));
        let sizes = AnimatableKeyframeCurve::new(keys().map(size));
        let more = "a curve has more than one key";
        let (places, turned) = (places.expect(more), turned.expect(more));
        let property = animated_field!(Transform::translation);
        clip.add_curve_to_target(part.target(), AnimatableCurve::new(property, places));
        let property = animated_field!(Transform::rotation);
        clip.add_curve_to_target(part.target(), AnimatableCurve::new(property, turned));
        let property = animated_field!(Transform::scale);
        clip.add_curve_to_target(
            part.target(),
            AnimatableCurve::new(property, sizes.expect(more)),
        );
    }
    clip
}

/// Whether all textures are loaded.
pub(crate) fn is_loaded(world: &World) -> bool {
    let server = world.resource::<AssetServer>();
    let mut textures = world.resource::<Textures>().0.iter();
    textures.all(|texture| server.is_loaded_with_dependencies(texture))
}

/// Where all parts of all figures are, bit for bit, after what was so `before`.
pub(crate) fn fingerprint(world: &mut World, before: u64) -> u64 {
    let mut parts = world.query::<(&Numbered, &GlobalTransform)>();
    let of = |(number, transform): (&Numbered, &GlobalTransform)| {
        let numbers = transform.to_matrix().to_cols_array();
        let bits = numbers.into_iter().map(|number| number.to_bits().into());
        bits.fold(number.0, mix)
    };
    // A sum, since the order of the query is no promise.
    let all = parts.iter(world).map(of).fold(0, u64::wrapping_add);
    mix(before, all)
}
