//! Who is in a run: noted when it is first seen, with its shapes, each of which is written once.

use std::collections::HashMap;

use drystone::{Model, Motion, Pose, Shape, World};
use glam::{DQuat, DVec3};

use super::RecordError;
use super::frame::{BodyInfo, Catalogue, ColliderInfo, JointInfo, joint_info, number};
use super::store::{Source, Table, Values};

const MOTIONS: [(&str, Motion); 3] =
    [("dynamic", Motion::Dynamic), ("kinematic", Motion::Kinematic), ("static", Motion::Static)];

/// Stands for a shape that is lost: no body has a ball without size.
const MISSING_SHAPE: Shape = Shape::Sphere { radius: 0.0 };

fn is_lost(shape: &Shape) -> bool {
    matches!(shape, Shape::Sphere { radius: 0.0 })
}

/// Knows what was written down already.
#[derive(Default)]
pub(super) struct Tracker {
    /// One more than the generation of the body that is known, by slot; 0 for none.
    bodies: Vec<u32>,
    joints: Vec<u32>,
    /// Static bodies that are there.
    fixed: Vec<i64>,
    /// Numbers of shapes by their definitions.
    shapes: HashMap<String, usize>,
    /// The number of the next one: lost ones have numbers too.
    next_shape: usize,
    materials: usize,
}

/// Notes a generation; true if it is new.
fn is_new(known: &mut Vec<u32>, slot: usize, generation: u32) -> bool {
    if known.len() <= slot {
        known.resize(slot + 1, 0);
    }
    std::mem::replace(&mut known[slot], generation + 1) != generation + 1
}

fn definition(shape: &Shape) -> String {
    serde_json::to_string(shape).unwrap_or_default()
}

impl Tracker {
    /// Knows all that is in a catalogue.
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut tracker = Self { materials: catalogue.materials.len(), ..Self::default() };
        for b in &catalogue.bodies {
            is_new(&mut tracker.bodies, b.id as u32 as usize, (b.id >> 32) as u32);
            if b.motion == Motion::Static {
                tracker.fixed.push(b.id);
            }
        }
        tracker.fixed.retain(|id| catalogue.gone.iter().all(|(gone, _)| gone != id));
        for j in &catalogue.joints {
            is_new(&mut tracker.joints, j.id as u32 as usize, (j.id >> 32) as u32);
        }
        let shapes = catalogue.shapes.iter().enumerate().filter(|(_, s)| !is_lost(s));
        tracker.shapes = shapes.map(|(k, s)| (definition(s), k)).collect();
        tracker.next_shape = catalogue.shapes.len();
        tracker
    }

    /// What a world has that is not known yet.
    pub fn news(&mut self, world: &World) -> Catalogue {
        let (model, s) = (world.model(), world.state());
        let mut news = Catalogue::default();
        let mut fresh = Vec::new();
        for i in model.slots() {
            let b = &model.bodies[i];
            if !is_new(&mut self.bodies, i, b.generation) {
                continue;
            }
            let id = number(i as u32, b.generation);
            if b.motion == Motion::Static {
                self.fixed.push(id);
            }
            fresh.resize(fresh.len().max(i + 1), false);
            fresh[i] = true;
            news.bodies.push(BodyInfo {
                id,
                name: b.name.as_deref().unwrap_or_default().into(),
                motion: b.motion,
                mass: if b.inv_mass > 0.0 { b.mass.mass } else { 0.0 },
                step: s.step,
                pose: Pose::new(s.position[i], s.rotation[i]),
            });
        }
        if !fresh.is_empty() {
            self.add_colliders(model, &fresh, &mut news);
        }
        for id in world.joints() {
            if is_new(&mut self.joints, id.slot as usize, id.generation) {
                news.joints.push(joint_info(model, id.slot));
            }
        }
        news.materials = model.materials.names()[self.materials..].to_vec();
        self.materials = model.materials.names().len();
        let there = |id: &i64| model.contains(super::frame::body_id(*id));
        news.gone = self.fixed.iter().filter(|id| !there(id)).map(|id| (*id, s.step)).collect();
        self.fixed.retain(there);
        news
    }

    fn add_colliders(&mut self, model: &Model, fresh: &[bool], news: &mut Catalogue) {
        // Shapes with much data are shared: one look at each of them is enough.
        let mut seen: HashMap<usize, usize> = HashMap::new();
        for c in model.colliders.iter().filter(|c| fresh.get(c.body as usize) == Some(&true)) {
            let place = match &c.shape {
                Shape::Hull(x) => std::sync::Arc::as_ptr(x) as usize,
                Shape::Mesh(x) => std::sync::Arc::as_ptr(x) as usize,
                Shape::HeightField(x) => std::sync::Arc::as_ptr(x) as usize,
                Shape::Compound(x) => std::sync::Arc::as_ptr(x) as usize,
                _ => 0,
            };
            let shape = match seen.get(&place).filter(|_| place != 0) {
                Some(shape) => *shape,
                None => {
                    let next = self.next_shape;
                    let shape = *self.shapes.entry(definition(&c.shape)).or_insert(next);
                    if shape == next {
                        news.shapes.push(c.shape.clone());
                        self.next_shape += 1;
                    }
                    seen.insert(place, shape);
                    shape
                }
            };
            news.colliders.push(ColliderInfo {
                body: number(c.body, model.bodies[c.body as usize].generation),
                shape,
                local: c.place(),
                friction: c.mu,
                material: c.material.map(|m| m.0 as usize),
            });
        }
    }
}

fn flat<const N: usize>(rows: impl Iterator<Item = [f64; N]>) -> Vec<f64> {
    rows.flatten().collect()
}

fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

impl Catalogue {
    /// Of a world as it is.
    pub fn of(world: &World) -> Self {
        Tracker::default().news(world)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a segment tells, whose shapes and materials are numbered from these on. What is lost before
    /// them keeps its numbers, and colliders of lost shapes are left out.
    pub(super) fn take(&mut self, mut news: Self, first_shape: usize, first_material: usize) {
        self.shapes.resize(first_shape.max(self.shapes.len()), MISSING_SHAPE);
        self.materials.resize(first_material.max(self.materials.len()), String::new());
        let colliders = std::mem::take(&mut news.colliders);
        self.extend(news);
        let known = |c: &ColliderInfo| self.shapes.get(c.shape).is_some_and(|s| !is_lost(s));
        self.colliders.extend(colliders.into_iter().filter(known));
    }

    /// Adds what came later.
    pub fn extend(&mut self, news: Self) {
        self.bodies.extend(news.bodies);
        self.colliders.extend(news.colliders);
        self.shapes.extend(news.shapes);
        self.joints.extend(news.joints);
        self.materials.extend(news.materials);
        self.gone.extend(news.gone);
    }

    /// Tables of all that is in it; shapes are numbered from `first_shape`, and their meshes by these
    /// numbers.
    pub(super) fn tables(&self, first_shape: usize) -> Vec<Table> {
        let mut tables = Vec::new();
        let mut add = |group: &str, name: &str, values: Values, columns: usize| {
            if values.len() > 0 {
                tables.push(Table::new(format!("catalogue/{group}/{name}"), values, columns));
            }
        };
        let b = &self.bodies;
        let motion = |m: Motion| MOTIONS.iter().find(|(_, x)| *x == m).map_or("", |(name, _)| name);
        add("bodies", "id", Values::I64(b.iter().map(|b| b.id).collect()), 1);
        add("bodies", "name", Values::Text(b.iter().map(|b| b.name.clone()).collect()), 1);
        add("bodies", "motion", Values::Text(b.iter().map(|b| motion(b.motion).into()).collect()), 1);
        add("bodies", "mass", Values::F64(b.iter().map(|b| b.mass).collect()), 1);
        add("bodies", "step", Values::I64(b.iter().map(|b| b.step as i64).collect()), 1);
        add("bodies", "position", Values::F64(flat(b.iter().map(|b| b.pose.position.to_array()))), 3);
        add("bodies", "orientation", Values::F64(flat(b.iter().map(|b| wxyz(b.pose.rotation)))), 4);
        let c = &self.colliders;
        let material = |c: &ColliderInfo| c.material.map_or(-1, |m| m as i64);
        add("colliders", "body", Values::I64(c.iter().map(|c| c.body).collect()), 1);
        add("colliders", "shape", Values::I64(c.iter().map(|c| c.shape as i64).collect()), 1);
        add("colliders", "position", Values::F64(flat(c.iter().map(|c| c.local.position.to_array()))), 3);
        add("colliders", "orientation", Values::F64(flat(c.iter().map(|c| wxyz(c.local.rotation)))), 4);
        add("colliders", "friction", Values::F64(c.iter().map(|c| c.friction).collect()), 1);
        add("colliders", "material", Values::I64(c.iter().map(material).collect()), 1);
        let j = &self.joints;
        add("joints", "id", Values::I64(j.iter().map(|j| j.id).collect()), 1);
        add("joints", "name", Values::Text(j.iter().map(|j| j.name.clone()).collect()), 1);
        add("joints", "kind", Values::Text(j.iter().map(|j| j.kind.clone()).collect()), 1);
        add("joints", "bodies", Values::I64(j.iter().flat_map(|j| j.bodies).collect()), 2);
        let frames = || j.iter().filter_map(|j| j.frames).flatten();
        add("joints", "position", Values::F64(flat(frames().map(|f| f.position.to_array()))), 6);
        add("joints", "orientation", Values::F64(flat(frames().map(|f| wxyz(f.rotation)))), 8);
        add("materials", "name", Values::Text(self.materials.clone()), 1);
        let gone = self.gone.iter().flat_map(|(id, step)| [*id, *step as i64]).collect();
        add("gone", "id_and_step", Values::I64(gone), 2);
        let s = &self.shapes;
        add("shapes", "kind", Values::Text(s.iter().map(|s| s.name().into()).collect()), 1);
        add("shapes", "definition", Values::Text(s.iter().map(definition).collect()), 1);
        for (k, shape) in s.iter().enumerate() {
            if matches!(shape, Shape::Sphere { .. } | Shape::HalfSpace) {
                continue; // Of balls there may be as many as bodies.
            }
            let (group, mesh) = (format!("meshes/{}", first_shape + k), crate::surface::of(shape));
            add(&group, "points", Values::F64(flat(mesh.points.iter().map(DVec3::to_array))), 3);
            let corners = mesh.triangles.iter().flatten().map(|k| i64::from(*k)).collect();
            add(&group, "triangles", Values::I64(corners), 3);
        }
        tables
    }

    /// What a file tells.
    pub(super) fn read(from: &dyn Source) -> Result<Self, RecordError> {
        let path = |group: &str, name: &str| format!("catalogue/{group}/{name}");
        let rows = |group: &str, name: &str| match from.has(&path(group, name)) {
            true => from.rows(&path(group, name)),
            false => Ok(0),
        };
        let whole = |group: &str, name: &str| match rows(group, name)? {
            0 => Ok(Vec::new()),
            n => from.whole(&path(group, name), 0, n),
        };
        let reals = |group: &str, name: &str| match rows(group, name)? {
            0 => Ok(Vec::new()),
            n => from.reals(&path(group, name), 0, n),
        };
        let texts = |group: &str, name: &str| match rows(group, name)? {
            0 => Ok(Vec::new()),
            _ => from.texts(&path(group, name)),
        };
        let poses = |group: &str| -> Result<Vec<Pose>, RecordError> {
            let (x, q) = (reals(group, "position")?, reals(group, "orientation")?);
            let pose = |(x, q): (&[f64], &[f64])| {
                Pose::new(DVec3::from_slice(x), DQuat::from_xyzw(q[1], q[2], q[3], q[0]))
            };
            Ok(x.chunks_exact(3).zip(q.chunks_exact(4)).map(pose).collect())
        };
        let mut all = Self::default();
        let (ids, names, motions) =
            (whole("bodies", "id")?, texts("bodies", "name")?, texts("bodies", "motion")?);
        let (masses, steps, places) = (reals("bodies", "mass")?, whole("bodies", "step")?, poses("bodies")?);
        let lists = [names.len(), motions.len(), masses.len(), steps.len(), places.len()];
        if lists.iter().any(|n| *n != ids.len()) {
            return Err(RecordError::Form("catalogue/bodies: lists of different lengths".into()));
        }
        for (i, name) in names.into_iter().enumerate() {
            let motion = MOTIONS.iter().find(|(name, _)| *name == motions[i]).map(|(_, m)| *m);
            let motion = motion.ok_or_else(|| {
                RecordError::Form(format!("catalogue/bodies/motion: '{}' is unknown", motions[i]))
            })?;
            let (id, mass, step, pose) = (ids[i], masses[i], steps[i] as u64, places[i]);
            all.bodies.push(BodyInfo { id, name, motion, mass, step, pose });
        }
        let (bodies, shapes, materials) =
            (whole("colliders", "body")?, whole("colliders", "shape")?, whole("colliders", "material")?);
        let (friction, places) = (reals("colliders", "friction")?, poses("colliders")?);
        let rows = bodies.iter().zip(shapes).zip(materials).zip(friction).zip(places);
        all.colliders = rows
            .map(|((((body, shape), material), friction), local)| ColliderInfo {
                body: *body,
                shape: shape as usize,
                local,
                friction,
                material: usize::try_from(material).ok(),
            })
            .collect();
        let pairs = whole("joints", "bodies")?;
        let rows = whole("joints", "id")?.into_iter().zip(texts("joints", "name")?);
        let rows = rows.zip(texts("joints", "kind")?).zip(pairs.chunks_exact(2));
        let places = poses("joints")?;
        let joint = |(k, (((id, name), kind), b)): (usize, (((i64, String), String), &[i64]))| {
            let frames = places.get(2 * k..2 * k + 2).map(|f| [f[0], f[1]]);
            JointInfo { id, name, kind, bodies: [b[0], b[1]], frames }
        };
        all.joints = rows.enumerate().map(joint).collect();
        all.materials = texts("materials", "name")?;
        all.gone = whole("gone", "id_and_step")?.chunks_exact(2).map(|p| (p[0], p[1] as u64)).collect();
        for text in texts("shapes", "definition")? {
            let shape = serde_json::from_str(&text)
                .map_err(|e| RecordError::Form(format!("catalogue/shapes/definition: {e}")))?;
            all.shapes.push(shape);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three segments the second is lost: it had the shapes 1 and 2 and the material 1.
    #[test]
    fn numbers_outlive_a_lost_segment() {
        let ball = |radius: f64| Shape::Sphere { radius };
        let collider = |body: i64, shape: usize| ColliderInfo {
            body,
            shape,
            local: Pose::IDENTITY,
            friction: 0.5,
            material: None,
        };
        let mut all = Catalogue::default();
        let first = Catalogue {
            shapes: vec![ball(1.0)],
            colliders: vec![collider(0, 0)],
            materials: vec!["oak".into()],
            ..Catalogue::default()
        };
        let third = Catalogue {
            shapes: vec![ball(4.0)],
            colliders: vec![collider(5, 3), collider(6, 2), collider(7, 0)],
            materials: vec!["steel".into()],
            ..Catalogue::default()
        };
        all.take(first, 0, 0);
        all.take(third, 3, 2);
        assert_eq!((all.shapes.len(), &all.shapes[3]), (4, &ball(4.0)));
        assert_eq!(all.materials, ["oak", "", "steel"]);
        // The shape of body 6 is lost, and nobody else's is taken for it.
        let left: Vec<(i64, usize)> = all.colliders.iter().map(|c| (c.body, c.shape)).collect();
        assert_eq!(left, [(0, 0), (5, 3), (7, 0)]);
        // Whoever goes on writes lost shapes again, under new numbers.
        let tracker = Tracker::of(&all);
        assert_eq!(tracker.shapes.get(&definition(&ball(4.0))), Some(&3));
        assert_eq!((tracker.shapes.len(), tracker.next_shape, tracker.materials), (2, 4, 3));
    }
}
