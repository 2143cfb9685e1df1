//! A world as the list of what it was put together from, so that it can be put together in another way.

use drystone::joint::{Frames, Joint, WORLD_BODY};
use drystone::{
    BodyDef, BodyId, Collider, Filter, Guide, JointDef, MassProperties, Materials, Motion, Settings, World,
};
use glam::{DQuat, DVec3};

/// A body and how it moves now.
#[derive(Clone)]
pub struct Part {
    /// Its frame is at its centre of mass.
    pub def: BodyDef,
    /// Centre of mass, m.
    pub x: DVec3,
    /// Body to world.
    pub q: DQuat,
    /// Of the centre of mass, m/s.
    pub v: DVec3,
    /// Angular velocity in body axes, rad/s.
    pub omega: DVec3,
}

/// A joint and the angles that it counts.
#[derive(Clone)]
pub struct Link {
    /// Its frames are local ones, its bodies numbers of `Parts::bodies`.
    pub def: JointDef,
    /// rad, as the state keeps them.
    pub angle: Vec<f64>,
}

/// Everything that a scene of the zoo is made of, except emitters.
#[derive(Clone)]
pub struct Parts {
    /// Step, gravity, tolerance.
    pub settings: Settings,
    /// Laws of contact.
    pub materials: Materials,
    /// In the order of slots.
    pub bodies: Vec<Part>,
    /// In the order of slots.
    pub links: Vec<Link>,
    /// s
    pub time: f64,
    /// Steps done.
    pub step: u64,
}

/// The id of the body that is added as number `k`.
pub fn id(k: usize) -> BodyId {
    BodyId { slot: k as u32, generation: 0 }
}

impl Parts {
    /// Of a world from which nothing was removed. Forgets the multipliers of its last step.
    pub fn of(world: &World) -> Self {
        let (model, state) = (world.model(), world.state());
        assert!(
            state.emitted.is_empty() && world.fields().is_empty() && model.bodies.iter().all(|b| b.alive)
        );
        let mut bodies: Vec<Part> = Vec::new();
        for (i, b) in model.bodies.iter().enumerate() {
            let mass = MassProperties { centre: DVec3::ZERO, ..*b.mass };
            let mut def = BodyDef { motion: b.motion, ..BodyDef::bare(mass) };
            (def.position, def.rotation) = (state.position[i], state.rotation[i]);
            def.name = b.name.as_ref().map(|n| n.to_string());
            (def.velocity, def.angular_velocity) = (state.velocity[i], state.world_omega(i));
            (def.group, def.charge) = (b.group, b.charge);
            def.planar = b.planar.as_ref().map(|p| p.normal);
            if let Some(guided) = &b.guide {
                let data = serde_json::to_value(guided).unwrap();
                let get = |key: &str| data[key].clone();
                def.guide = Some(serde_json::from_value::<Guide>(get("guide")).unwrap());
                def.position = serde_json::from_value(get("position")).unwrap();
                def.rotation = serde_json::from_value(get("rotation")).unwrap();
            }
            let (v, omega) = (state.velocity[i], state.omega[i]);
            bodies.push(Part { def, x: state.position[i], q: state.rotation[i], v, omega });
        }
        for (k, c) in model.colliders.iter().enumerate() {
            let to = &mut bodies[c.body as usize].def.colliders;
            let (shape, local, mu) = (c.shape.clone(), c.place(), c.mu);
            let (material, filter, surface_velocity) = (c.material, c.filter, c.belt());
            let sensor = model.is_sensor(k as u32);
            to.push(Collider { shape, local, mu, material, filter, surface_velocity, sensor });
        }
        let links = model.joints.iter().zip(&state.joints);
        let links = links.map(|(j, s)| Link { def: definition(j), angle: s.angle.to_vec() }).collect();
        let (settings, materials) = (world.settings().clone(), model.materials.clone());
        Self { settings, materials, bodies, links, time: state.time, step: state.step }
    }

    /// The world.
    pub fn world(&self) -> World {
        let mut world = World::new(self.settings.clone()).unwrap();
        *world.materials_mut() = self.materials.clone();
        for part in &self.bodies {
            world.add_body(part.def.clone()).unwrap();
        }
        for link in &self.links {
            world.add_joint(link.def.clone()).unwrap();
        }
        // What adding rounds, and where guides have led, is as it was.
        let mut state = world.state().clone();
        for (i, part) in self.bodies.iter().enumerate() {
            (state.position[i], state.rotation[i]) = (part.x, part.q);
            (state.velocity[i], state.omega[i]) = (part.v, part.omega);
        }
        for (to, link) in state.joints.iter_mut().zip(&self.links) {
            to.angle.copy_from_slice(&link.angle);
        }
        (state.time, state.step) = (self.time, self.step);
        world.restore(state).unwrap();
        world
    }

    /// Solves every step to this share of `speed()`.
    pub fn accurate(mut self, share: f64) -> Self {
        self.settings.tolerance = share * self.speed();
        self
    }

    /// The largest speed of a body, or what gravity gives in a step, m/s.
    pub fn speed(&self) -> f64 {
        let s = &self.settings;
        self.bodies
            .iter()
            .map(|b| b.v.length() + b.radius() * b.omega.length())
            .fold(s.h * s.gravity.length(), f64::max)
    }
}

impl Parts {
    /// How many bodies there are.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Whether nothing but contacts, joints and gravity acts: no motors, springs, guides or belts.
    pub fn is_passive(&self) -> bool {
        let idle = |l: &Link| l.def.laws.iter().all(|law| law.motor.is_none() && law.spring.is_none());
        let still = |b: &Part| {
            b.def.guide.is_none() && b.def.colliders.iter().all(|c| c.surface_velocity == DVec3::ZERO)
        };
        self.links.iter().all(idle) && self.bodies.iter().all(still)
    }

    /// Only the bodies for which `keep` holds, and the joints between them (not those with the world).
    pub fn only(&self, keep: impl Fn(usize, &Part) -> bool) -> Self {
        let mut number = vec![None; self.len()];
        let mut new = Self { bodies: Vec::new(), links: Vec::new(), ..self.clone() };
        for (i, part) in self.bodies.iter().enumerate().filter(|(i, part)| keep(*i, part)) {
            number[i] = Some(id(new.len()));
            new.bodies.push(part.clone());
        }
        for link in &self.links {
            let at = |body: Option<BodyId>| body.and_then(|b| number[b.slot as usize]);
            if let (Some(a), Some(b)) = (at(link.def.a), at(link.def.b)) {
                let def = JointDef { a: Some(a), b: Some(b), ..link.def.clone() };
                new.links.push(Link { def, ..link.clone() });
            }
        }
        new
    }

    /// The same bodies and joints, added in another order: number `order[k]` as number k.
    pub fn reordered(&self, bodies: &[usize], links: &[usize]) -> Self {
        let mut new = self.clone();
        new.bodies = bodies.iter().map(|k| self.bodies[*k].clone()).collect();
        new.links = links.iter().map(|k| self.links[*k].clone()).collect();
        let mut number = vec![0; self.len()];
        bodies.iter().enumerate().for_each(|(new, old)| number[*old] = new);
        for link in &mut new.links {
            for body in [&mut link.def.a, &mut link.def.b].into_iter().flatten() {
                *body = id(number[body.slot as usize]);
            }
        }
        new
    }

    /// All dynamic bodies without anything that is fixed to the world and without gravity, thrown at their
    /// common centre such that the farthest ones would be there after `time` seconds.
    pub fn gathered(&self, time: f64) -> Self {
        let mut new = self.only(|_, b| b.def.motion == Motion::Dynamic && b.def.planar.is_none());
        new.settings.gravity = DVec3::ZERO;
        let centre = new.bodies.iter().map(|b| b.x).sum::<DVec3>() / new.len().max(1) as f64;
        for b in &mut new.bodies {
            b.v += (centre - b.x) / time;
            b.def.velocity = b.v;
        }
        new
    }

    /// Everything moved by `way`, m.
    pub fn moved(&self, way: DVec3) -> Self {
        let mut new = self.clone();
        for b in &mut new.bodies {
            b.x += way;
            b.def.position += way;
        }
        for link in &mut new.links {
            let of_world = [link.def.a.is_none(), link.def.b.is_none()];
            for (frame, _) in frames(&mut link.def).into_iter().zip(of_world).filter(|(_, of)| *of) {
                frame.position += way;
            }
        }
        new
    }

    /// Both in one world, with the settings and materials of the first: what is in one collides with nothing
    /// of the other.
    pub fn and(&self, other: &Parts) -> Self {
        let mut new = self.clone();
        new.bodies.extend(other.bodies.iter().cloned());
        for (k, b) in new.bodies.iter_mut().enumerate() {
            let layer = if k < self.len() { 1 } else { 2 };
            b.def.colliders.iter_mut().for_each(|c| c.filter = Filter { layers: layer, mask: layer });
        }
        for link in &other.links {
            let mut link = link.clone();
            for body in [&mut link.def.a, &mut link.def.b].into_iter().flatten() {
                body.slot += self.len() as u32;
            }
            new.links.push(link);
        }
        new
    }
}

impl Part {
    /// Radius about the centre of mass that holds all shapes that end, m.
    pub fn radius(&self) -> f64 {
        let reach = |c: &Collider| c.local.position.length() + c.shape.bounding_radius();
        self.def.colliders.iter().map(reach).filter(|r| r.is_finite()).fold(0.0, f64::max)
    }
}

fn definition(j: &Joint) -> JointDef {
    assert!(j.alive);
    let [a, b] = j.bodies.map(|b| (b != WORLD_BODY).then(|| id(b as usize)));
    let mut def = JointDef::local(j.kind.clone(), (a, j.frames[0]), (b, j.frames[1]));
    (def.laws, def.compliance, def.length) = (j.laws.clone(), j.compliance, Some(j.length));
    def.collide = !j.parted;
    def.name = j.name.clone();
    def
}

/// The two frames of a joint, relative to the centres of mass of its bodies.
pub fn frames(def: &mut JointDef) -> [&mut drystone::Pose; 2] {
    match &mut def.frames {
        Frames::Local(a, b) => [a, b],
        _ => unreachable!("links have local frames"),
    }
}
