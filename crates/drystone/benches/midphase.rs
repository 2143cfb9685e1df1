//! Bodies against a mesh of 80 000 triangles: nanoseconds of processor time a query, beside parry's. On Unix
//! only.
//!
//! Run with `cargo bench -p drystone --bench midphase`. The two take turns, so that both see the same
//! machine; the least of several rounds is printed. `-- ball` runs only the bodies whose names contain the
//! word.

use std::hint::black_box;
use std::sync::Arc;

use drystone::collide::midphase::Finder;
use drystone::random::Random;
use drystone::{Pose, Shape, TriMesh};
use glam::{DQuat, DVec3};
use parry3d_f64::query::{self, ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d_f64::shape as parry;

const CELLS: usize = 200;
const SIZE: f64 = 20.0;
const QUERIES: usize = 500;
const ROUNDS: usize = 15;

fn height(x: f64, y: f64) -> f64 {
    0.3 * (1.3 * x).sin() * (0.9 * y).cos() + 0.05 * (5.0 * x + 3.0 * y).sin()
}

/// Processor time of this program so far, s: other programs on the machine do not count.
fn clock() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place to write to, and the clock exists on every Unix.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn main() {
    let mut random = Random::new(1);
    let cell = SIZE / CELLS as f64;
    let mut vertices = Vec::new();
    for j in 0..=CELLS {
        for i in 0..=CELLS {
            let mut place = |k: usize| (k as f64 + 0.3 * random.range(-1.0, 1.0)) * cell - 0.5 * SIZE;
            let (x, y) = (place(i), place(j));
            vertices.push(DVec3::new(x, y, height(x, y)));
        }
    }
    let at = |i: usize, j: usize| (j * (CELLS + 1) + i) as u32;
    let triangles: Vec<[u32; 3]> = (0..CELLS * CELLS)
        .flat_map(|k| {
            let (i, j) = (k % CELLS, k / CELLS);
            [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();

    let begin = clock();
    let mesh = TriMesh::new(vertices.clone(), triangles.clone()).expect("a sound mesh");
    let ours_built = clock() - begin;
    let points = vertices.iter().map(|v| v.to_array().into()).collect();
    let begin = clock();
    let flags = parry::TriMeshFlags::FIX_INTERNAL_EDGES | parry::TriMeshFlags::ORIENTED;
    let theirs_mesh = parry::TriMesh::with_flags(points, triangles.clone(), flags).expect("a sound mesh");
    println!(
        "{} triangles, built in {ours_built:.2} s, by parry in {:.2} s; tree and skin take {} KiB",
        triangles.len(),
        clock() - begin,
        (mesh.bvh().bytes() + mesh.skin().bytes()) / 1024
    );
    let mesh = Shape::Mesh(Arc::new(mesh));

    println!(
        "{:34} {:>9} {:>14} {:>14} {:>9}",
        "touching the ground, ns a query", "drystone", "parry manifold", "parry contact", "contacts"
    );
    let bodies: Vec<(&str, Shape, Box<dyn parry::Shape>)> = vec![
        ("ball of 1 cell", Shape::Sphere { radius: 0.1 }, Box::new(parry::Ball::new(0.1))),
        ("ball of 5 cells", Shape::Sphere { radius: 0.5 }, Box::new(parry::Ball::new(0.5))),
        (
            "capsule of 2 by 4 cells",
            Shape::Capsule { radius: 0.1, half_length: 0.2 },
            Box::new(parry::Capsule::new(
                (DVec3::Z * -0.2).to_array().into(),
                (DVec3::Z * 0.2).to_array().into(),
                0.1,
            )),
        ),
        (
            "box of 4 cells",
            Shape::Box { half: DVec3::splat(0.2) },
            Box::new(parry::Cuboid::new(DVec3::splat(0.2).to_array().into())),
        ),
    ];
    let wanted =
        |name: &str| std::env::args().skip(1).filter(|a| !a.starts_with('-')).all(|a| name.contains(&a));
    for (name, ours, theirs) in bodies.iter().filter(|b| wanted(b.0)) {
        let reach = 0.002;
        let mut finder = Finder::default();
        let lift = ours.aabb(&Pose::IDENTITY).max.z - 0.001;
        let places: Vec<Pose> = (0..QUERIES)
            .map(|_| {
                let p = random.in_box(DVec3::splat(-8.0), DVec3::splat(8.0));
                let (x, y, step) = (p.x, p.y, 0.5 * cell);
                let slope = |dx: f64, dy: f64| height(x + dx, y + dy) - height(x - dx, y - dy);
                let up = DVec3::new(-slope(step, 0.0), -slope(0.0, step), 2.0 * step).normalize();
                let turn = DQuat::from_rotation_arc(DVec3::Z, up) * DQuat::from_rotation_z(p.z);
                let mut pose = Pose::new(DVec3::new(x, y, height(x, y)) + up * lift, turn);
                // Until it just touches.
                for _ in 0..10 {
                    let found = finder.find(ours, &pose, &mesh, &Pose::IDENTITY, 0.5);
                    let least = found.iter().map(|c| c.point.gap).fold(0.5, f64::min);
                    pose.position += up * (-0.001 - least);
                }
                pose
            })
            .collect();
        let mut manifolds: Vec<ContactManifold<(), ()>> = Vec::new();
        let mut workspace = None;
        let mut least = [f64::INFINITY; 3];
        let mut count = 0;
        for _ in 0..ROUNDS {
            let begin = clock();
            count = 0;
            for pose in &places {
                count += black_box(finder.find(ours, pose, &mesh, &Pose::IDENTITY, reach)).len();
            }
            least[0] = least[0].min(clock() - begin);

            let isometries: Vec<parry3d_f64::math::Pose> = places.iter().map(isometry).collect();
            let begin = clock();
            for pos in &isometries {
                let back = pos.inverse();
                DefaultQueryDispatcher
                    .contact_manifolds(
                        &back,
                        theirs.as_ref(),
                        &theirs_mesh,
                        reach,
                        &mut manifolds,
                        &mut workspace,
                    )
                    .expect("supported");
                black_box(&manifolds);
            }
            least[1] = least[1].min(clock() - begin);

            let begin = clock();
            for pos in &isometries {
                let hit = query::contact(
                    pos,
                    theirs.as_ref(),
                    &parry3d_f64::math::Pose::identity(),
                    &theirs_mesh,
                    reach,
                );
                black_box(hit.expect("supported"));
            }
            least[2] = least[2].min(clock() - begin);
        }
        let ns = least.map(|t| t / QUERIES as f64 * 1e9);
        println!(
            "{name:34} {:>9.0} {:>14.0} {:>14.0} {:>9.2}",
            ns[0],
            ns[1],
            ns[2],
            count as f64 / QUERIES as f64
        );
    }
}

fn isometry(pose: &Pose) -> parry3d_f64::math::Pose {
    let (axis, angle) = pose.rotation.to_axis_angle();
    parry3d_f64::math::Pose::new(pose.position.to_array().into(), (axis * angle).to_array().into())
}
