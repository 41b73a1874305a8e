//! obvhs with its feature `parallel`.

use std::time::Duration;

use glam::vec3a;
use obvhs::BvhBuildParams;
use obvhs::bvh2::builder::build_bvh2_from_tris;
use obvhs::cwbvh::builder::build_cwbvh_from_tris;
use obvhs::ray::{Ray, RayHit};
use obvhs::test_util::geometry::icosphere;
use rayon::prelude::*;

use crate::{Failure, checksum, number};

const RAYS: u64 = 20_000;

/// A ray towards the mesh, or past it.
fn ray(place: u64) -> Ray {
    let unit = |place| (number(place) % 2_001) as f32 / 1_000.0 - 1.0;
    let origin = vec3a(unit(3 * place) * 1.2, unit(3 * place + 1) * 1.2, 4.0);
    Ray::new_inf(origin, vec3a(0.0, unit(3 * place + 2) / 8.0, -1.0))
}

pub(crate) fn run() -> Result<(), Failure> {
    let mesh = icosphere(6);
    println!("{} triangles", mesh.len());
    type Build = fn() -> BvhBuildParams;
    let builds: [(&str, Build); 3] = [
        ("fast", BvhBuildParams::fast_build),
        ("medium", BvhBuildParams::medium_build),
        ("slow", BvhBuildParams::slow_build),
    ];
    for (name, params) in builds {
        let narrow = build_bvh2_from_tris(&mesh, params(), &mut Duration::default());
        narrow.validate(&mesh, false, false);
        let wide = build_cwbvh_from_tris(&mesh, params(), &mut Duration::default());
        println!(
            "{name}: {} and {} nodes",
            narrow.nodes.len(),
            wide.nodes.len()
        );
        let hits: Vec<u32> = (0..RAYS)
            .into_par_iter()
            .map(|place| {
                let mut hit = RayHit::none();
                let triangle =
                    |ray: &Ray, id: usize| mesh[wide.primitive_indices[id] as usize].intersect(ray);
                match wide.ray_traverse(ray(place), &mut hit, triangle) {
                    true => hit.t.to_bits(),
                    false => 0,
                }
            })
            .collect();
        let missed = hits.iter().filter(|hit| **hit == 0).count();
        let hits = checksum(hits.iter().flat_map(|hit| hit.to_le_bytes()));
        println!("{name}: {missed} of {RAYS} rays miss, {hits:016x}");
    }
    Ok(())
}
