//! `drystone decompose`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use drystone::Shape;
use drystone_record::picture::{Item, Picture, Rgb, Solid, View, bounds, distinct, render};
use drystone_record::portrait::solids;
use drystone_scene::mesh::{Decomposition, Origin, Surface, Target, parts_of};
use glam::DVec3;

use crate::failure::Failure;
use crate::interrupt;
use crate::outputs::{self, Output};
use crate::own::Kind;

#[derive(clap::Args)]
pub struct Args {
    /// A closed mesh; .obj or .stl.
    mesh: PathBuf,
    /// Most convex parts.
    #[arg(long, value_name = "N", default_value_t = Target::default().parts)]
    parts: usize,
    /// By how much the parts together may be larger than the mesh, as a share of its volume.
    #[arg(long, value_name = "X", default_value_t = Target::default().threshold)]
    threshold: f64,
    /// Stretches the mesh: one number, or three with commas; below 0 mirrors.
    #[arg(long, value_name = "S|X,Y,Z", default_value = "1")]
    scale: String,
    /// Write the parts, one object each.
    #[arg(long, value_name = "FILE.obj")]
    out: Option<PathBuf>,
    /// Draw the mesh, and beside it the parts, moved apart, each in its own colour.
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
}

pub fn main(args: Args) -> Result<i32, Failure> {
    let scale = scale(&args.scale)?;
    let target = Target { parts: args.parts, threshold: args.threshold };
    target.check().map_err(Failure::input)?;
    let asked =
        [Output::of(Kind::Obj, "--out", args.out.as_ref()), Output::png("--picture", args.picture.as_ref())];
    outputs::check(Some(&args.mesh), asked)?;
    interrupt::leave_nothing();
    let start = Instant::now();
    let (surface, found, origin) = parts_of(&args.mesh, scale, &target).map_err(Failure::input)?;
    table(&args.mesh, &surface, &found);
    let took = start.elapsed().as_secs_f64();
    match origin {
        Origin::Kept(path) => println!("read from {} in {took:.2} s", path.display()),
        Origin::Found(path) => println!("found in {took:.2} s, kept in {}", path.display()),
        Origin::NotKept(why) => println!("found in {took:.2} s, not kept: {why}"),
    }
    if found.error() > target.threshold {
        println!("note: the threshold of {:.2} % needs more parts", 100.0 * target.threshold);
    }
    if let Some(path) = &args.out {
        crate::terminal::write(path, &found.to_obj())?;
    }
    if let Some(path) = &args.picture {
        render(&picture(&args.mesh, &surface, &found)).write_png(path).map_err(Failure::png)?;
    }
    Ok(0)
}

fn scale(text: &str) -> Result<DVec3, Failure> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse::<f64>()).collect();
    let scale = match numbers.as_deref() {
        Ok(&[s]) => Some(DVec3::splat(s)),
        Ok(&[x, y, z]) => Some(DVec3::new(x, y, z)),
        _ => None,
    };
    scale.filter(|s| s.is_finite() && s.cmpne(DVec3::ZERO).all()).ok_or_else(|| {
        Failure::input(format!("--scale must be one number or three with commas, none 0, got '{text}'"))
    })
}

fn table(mesh: &Path, surface: &Surface, found: &Decomposition) {
    println!(
        "{}: {} vertices, {} triangles, volume {:.6e} m³",
        mesh.display(),
        surface.vertices.len(),
        surface.triangles.len(),
        found.volume
    );
    println!("{:>5}  {:>8}  {:>6}  {:>13}  {:>7}", "part", "vertices", "faces", "volume (m³)", "share");
    for (k, part) in found.parts.iter().enumerate() {
        println!(
            "{:>5}  {:>8}  {:>6}  {:>13.6e}  {:>6.2}%",
            k + 1,
            part.hull.vertices().len(),
            part.hull.faces().len(),
            part.volume,
            100.0 * part.volume / found.volume
        );
    }
    let parts: f64 = found.parts.iter().map(|p| p.volume).sum();
    let error = 100.0 * found.error();
    println!("{} parts, volume {parts:.6e} m³, volume error {error:+.3} %", found.parts.len());
}

/// On the left the mesh, on the right its parts moved away from its middle.
fn picture(mesh: &Path, surface: &Surface, found: &Decomposition) -> Picture {
    let (low, high) = surface.bounds();
    let middle = 0.5 * (low + high);
    let (vertices, triangles) = (surface.vertices.clone(), surface.triangles.clone());
    let solid = Solid::Mesh { vertices, triangles, crease: 25.0 };
    let mut items = vec![Item::new(solid, -middle, Rgb::hex(0xB9B4AC))];
    for (k, part) in found.parts.iter().enumerate() {
        let away = 0.22 * (part.hull.moments().centroid - middle);
        for (_, solid) in solids(&Shape::Hull(part.hull.clone())) {
            items.push(Item::new(solid, away - middle, distinct(k)));
        }
    }
    // Beside each other along what is right in the picture, standing on one floor.
    let view = View::Iso;
    let right = view.up().cross(view.towards_eye()).normalize();
    let reach = |items: &[Item]| bounds(items).map_or(DVec3::ONE, |(low, high)| high - low);
    let widths = [reach(&items[..1]), reach(&items[1..])].map(|d| d.abs().dot(right.abs()));
    let gap = 0.5 * (widths[0] + widths[1]) + 0.08 * widths[0];
    items[1..].iter_mut().for_each(|i| i.position += gap * right);
    let floor = bounds(&items).map_or(0.0, |(low, _)| low.z);
    items.push(Item::new(Solid::Ground, DVec3::Z * floor, Rgb::grey(0.9)));
    let mut picture = Picture::of(items, view, 1280, 640);
    picture.samples = 3;
    let name = mesh.file_name().unwrap_or_default().to_string_lossy();
    picture.title =
        Some(format!("{name}  {} parts, volume {:+.2} %", found.parts.len(), 100.0 * found.error()));
    picture
}
