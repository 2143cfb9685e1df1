//! Geoms: shapes, and the masses of bodies that say none.

use drystone::{MassProperties, Pose, Shape};
use glam::{DQuat, DVec3};

use super::{Read, Reader};
use crate::import::tree::Element;
use crate::import::{Form, Geometry, check_mass, joined};
use crate::mesh;

/// kg/m³, where nothing is said.
const DENSITY: f64 = 1000.0;

impl Reader {
    /// Mass of a geom in its body's frame, and the shape if it collides.
    pub(super) fn geom(
        &mut self,
        node: &Element,
        class: &str,
    ) -> Read<(Option<MassProperties>, Option<Geometry>)> {
        let mut pose = self.pose(node, class)?;
        let size = self.list(node, class, "size")?.unwrap_or_default();
        let kind = self.get(node, class, "type").unwrap_or("sphere").to_string();
        let missing = |n: usize| node.wrong(format!("size: a {kind} needs {n} numbers, got {}", size.len()));
        let need = |n: usize| if size.len() >= n { Ok(()) } else { Err(missing(n)) };
        // A class may say from where to where, for geoms that have two ends.
        let ends = matches!(kind.as_str(), "capsule" | "cylinder" | "box" | "ellipsoid");
        let along = match self.list(node, class, "fromto")?.filter(|_| ends).as_deref() {
            Some(&[a, b, c, d, e, f]) => {
                let (from, to) = (DVec3::new(a, b, c), DVec3::new(d, e, f));
                let axis = (to - from).try_normalize();
                let axis = axis.ok_or_else(|| node.wrong("fromto: two points at one place"))?;
                pose = Pose::new(0.5 * (from + to), DQuat::from_rotation_arc(DVec3::Z, axis));
                Some(0.5 * from.distance(to))
            }
            Some(list) => return Err(node.wrong(format!("fromto: must be 6 numbers, got {}", list.len()))),
            None => None,
        };
        let long = |size: &[f64]| -> Read<(f64, f64)> {
            need(if along.is_some() { 1 } else { 2 })?;
            Ok((size[0], along.unwrap_or_else(|| size[1])))
        };
        let form = match kind.as_str() {
            "plane" => Form::Plane,
            "sphere" => {
                need(1)?;
                Form::Sphere(size[0])
            }
            "capsule" => long(&size).map(|(r, l)| Form::Capsule(r, l))?,
            "cylinder" => long(&size).map(|(r, l)| Form::Cylinder(r, l))?,
            "box" | "ellipsoid" => {
                let half = match along {
                    // As thick one way as the other.
                    Some(l) => {
                        need(1)?;
                        DVec3::new(size[0], size[0], l)
                    }
                    None => {
                        need(3)?;
                        DVec3::new(size[0], size[1], size[2])
                    }
                };
                if kind == "box" { Form::Box(half) } else { Form::Ellipsoid(half) }
            }
            "mesh" => {
                let name = self.get(node, class, "mesh").unwrap_or_default().to_string();
                match self.meshes.get(&name).filter(|(p, _)| p.is_file()).cloned() {
                    Some((path, scale)) => Form::Mesh(path, scale),
                    None => {
                        self.note(node, format!("the mesh '{name}' cannot be found, and is left out"));
                        return Ok((None, None));
                    }
                }
            }
            other => {
                let text = format!("type '{other}' is not understood, and is left out");
                self.note(node, text);
                return Ok((None, None));
            }
        };
        let off = |key: &str| self.get(node, class, key) == Some("0");
        let mu = self.not_negative(node, class, "friction")?;
        let touches = !(off("contype") && off("conaffinity"));
        let shape = match self.shape(node, &form)? {
            Ok(shape) => shape,
            Err(why) => {
                self.note(node, format!("{why}, and is left out"));
                return Ok((None, None));
            }
        };
        let mass = match shape {
            Some(shape) => self.mass_of(node, class, &shape, &pose)?,
            None => None,
        };
        Ok((mass, Some(Geometry { form, pose, mu }).filter(|_| touches)))
    }

    /// The engine's shape, none for a plane; or why a mesh has none.
    fn shape(&self, node: &Element, form: &Form) -> Read<Result<Option<Shape>, String>> {
        let shape = match form {
            Form::Plane => return Ok(Ok(None)),
            Form::Sphere(r) => Shape::Sphere { radius: *r },
            Form::Box(half) => Shape::Box { half: *half },
            Form::Ellipsoid(half) => Shape::Ellipsoid { half: *half },
            Form::Cylinder(r, l) => Shape::Cylinder { radius: *r, half_length: *l },
            Form::Capsule(r, l) => Shape::Capsule { radius: *r, half_length: *l },
            Form::Mesh(path, scale) => {
                let surface = match mesh::read(path, *scale) {
                    Ok(surface) => surface,
                    Err(e) => return Ok(Err(e.to_string())),
                };
                match Shape::hull(&surface.vertices) {
                    Ok(shape) => shape,
                    Err(e) => return Ok(Err(format!("{}: {e}", path.display()))),
                }
            }
        };
        shape.check().map_err(|e| node.wrong(format!("size: {e}")))?;
        Ok(Ok(Some(shape)))
    }

    fn mass_of(
        &self,
        node: &Element,
        class: &str,
        shape: &Shape,
        pose: &Pose,
    ) -> Read<Option<MassProperties>> {
        let density = self.not_negative(node, class, "density")?.unwrap_or(DENSITY);
        let mass = self.not_negative(node, class, "mass")?.unwrap_or(density * shape.volume());
        if mass <= 0.0 {
            return Ok(None);
        }
        let key = if self.not_negative(node, class, "mass")?.is_some() { "mass" } else { "density" };
        check_mass(key, mass).map_err(|why| node.wrong(why))?;
        Ok(joined(None, Some(MassProperties::of_shape(shape, mass)), pose))
    }
}
