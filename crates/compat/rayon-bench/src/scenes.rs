//! Hierarchies of bounding volumes by obvhs with its feature `parallel`, of generated scenes.
//!
//! A build makes the boxes of all triangles, sorts these by place, and merges neighbours. obvhs does the first two in parallel for large
//! scenes only. So two rows do these alone for small ones, with its types, and in the same way.

use std::hint::black_box;
use std::time::Duration;

use bench_main::Workload;
use glam::{DVec3, Vec3A};
use obvhs::BvhBuildParams;
use obvhs::aabb::Aabb;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::bvh2::node::Bvh2Node;
use obvhs::ploc::morton::morton_encode_u64_unorm;
use obvhs::test_util::geometry::{demoscene, height_to_triangles, icosphere};
use obvhs::triangle::Triangle;
use rayon::prelude::*;

/// Makes a scene.
type Mesh = fn() -> Vec<Triangle>;

/// Scenes of about 20,000 triangles each.
pub(crate) const SCENES: [(&str, Mesh); 3] = [
    ("sphere", || icosphere(5)),
    ("terrain", || demoscene(100, 1)),
    ("steps", || {
        height_to_triangles(|x, z| (x * z % 7) as f32 / 7.0, 100, 100)
    }),
];

/// More triangles than obvhs takes for a large scene.
pub(crate) fn large() -> Vec<Triangle> {
    demoscene(512, 1)
}

fn with(mut all: Aabb, other: Aabb) -> Aabb {
    all.extend(other.min).extend(other.max);
    all
}

/// The boxes of so many triangles, from the first one's number on.
fn boxes(nodes: &mut [Bvh2Node], mesh: &[Triangle], first: usize) -> Aabb {
    let mut all = Aabb::empty();
    for (at, (node, triangle)) in nodes.iter_mut().zip(mesh).enumerate() {
        *node = Bvh2Node::new(triangle.aabb(), 1, (first + at) as u32);
        all = with(all, triangle.aabb());
    }
    all
}

/// The leaves of a mesh, and the box of all.
fn leaves(mesh: &[Triangle]) -> (Vec<Bvh2Node>, Aabb) {
    let mut nodes = vec![Bvh2Node::default(); mesh.len()];
    let all = boxes(&mut nodes, mesh, 0);
    (nodes, all)
}

/// The boxes of all triangles, and the box of all of them: a chunk for each thread.
pub(crate) fn init(mesh: Mesh) -> Workload {
    let mesh = mesh();
    let (expected, whole) = leaves(&mesh);
    let (mut nodes, mut checked) = (vec![Bvh2Node::default(); mesh.len()], false);
    let chunk = mesh.len().div_ceil(rayon::current_num_threads());
    Box::new(move || {
        let chunks = nodes
            .par_chunks_mut(chunk)
            .zip(black_box(&mesh).par_chunks(chunk));
        let all = chunks
            .enumerate()
            .map(|(at, (nodes, mesh))| boxes(nodes, mesh, at * chunk))
            .reduce(Aabb::empty, with);
        assert!(all.min == whole.min && all.max == whole.max);
        if !std::mem::replace(&mut checked, true) {
            let mut pairs = nodes.iter().zip(&expected);
            let same = |(one, other): (&Bvh2Node, &Bvh2Node)| {
                one.first_index == other.first_index && one.aabb().min == other.aabb().min
            };
            assert!(pairs.all(same));
        }
    })
}

/// The place of a box in the order in which neighbours are near.
fn code(node: &Bvh2Node, scale: DVec3, offset: DVec3) -> u64 {
    morton_encode_u64_unorm(node.aabb().center().as_dvec3() * scale + offset)
}

/// The boxes by place: their codes, and a sort of these.
pub(crate) fn sort(mesh: Mesh) -> Workload {
    let (nodes, all) = leaves(&mesh());
    let scale = 1.0 / all.diagonal().max(Vec3A::splat(f32::EPSILON)).as_dvec3();
    let offset = -all.min.as_dvec3() * scale;
    let coded = move |(at, node): (usize, &Bvh2Node)| (code(node, scale, offset), at as u64);
    let mut expected: Vec<(u64, u64)> = nodes.iter().enumerate().map(coded).collect();
    expected.sort_unstable();
    let (mut codes, mut checked) = (Vec::new(), false);
    Box::new(move || {
        let nodes = black_box(&nodes).par_iter().enumerate();
        nodes.map(coded).collect_into_vec(&mut codes);
        codes.par_sort_unstable_by_key(|(code, _)| *code);
        if !std::mem::replace(&mut checked, true) {
            let keys =
                |codes: &[(u64, u64)]| codes.iter().map(|(code, _)| *code).collect::<Vec<_>>();
            assert_eq!(keys(&codes), keys(&expected));
        }
    })
}

/// The whole build.
pub(crate) fn build(mesh: Mesh) -> Workload {
    let (mesh, mut nodes) = (mesh(), None);
    Box::new(move || {
        let params = BvhBuildParams::fast_build();
        let built = build_bvh2_from_tris(black_box(&mesh), params, &mut Duration::default());
        let expected = *nodes.get_or_insert_with(|| {
            built.validate(&mesh, false, false);
            built.nodes.len()
        });
        assert_eq!(built.nodes.len(), expected);
    })
}
