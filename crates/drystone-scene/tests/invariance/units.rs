//! Units: lengths, masses and times in other units give the same run, bit for bit.

use drystone::joint::Kind;
use drystone::joint::law::{Command, Law};
use drystone::{Function, Materials, PairLaw, Pose, Shape, Stabilisation, TriMesh};
use drystone_scene::zoo::scene;

use crate::parts::{Parts, frames};
use crate::steps;

/// What one unit of length, mass and time is in new ones. Powers of 64: square and cube roots of them are
/// powers of two.
#[derive(Clone, Copy, Debug)]
struct Units {
    length: f64,
    mass: f64,
    time: f64,
}

impl Units {
    fn speed(&self) -> f64 {
        self.length / self.time
    }

    fn force(&self) -> f64 {
        self.mass * self.length / (self.time * self.time)
    }

    /// One unit along a free coordinate.
    fn coordinate(&self, angle: bool) -> f64 {
        if angle { 1.0 } else { self.length }
    }

    fn function(&self, f: &Function, value: f64) -> Function {
        match f {
            Function::Constant(x) => Function::Constant(value * x),
            Function::Ramp { from, to, start, end } => Function::Ramp {
                from: value * from,
                to: value * to,
                start: self.time * start,
                end: self.time * end,
            },
            Function::Sine { mean, amplitude, frequency, phase } => Function::Sine {
                mean: value * mean,
                amplitude: value * amplitude,
                frequency: frequency / self.time,
                phase: *phase,
            },
            other => panic!("no scene of the zoo has {other:?}"),
        }
    }

    fn shape(&self, shape: &Shape) -> Shape {
        let l = self.length;
        match shape {
            Shape::Sphere { radius } => Shape::sphere(l * radius),
            Shape::HalfSpace => Shape::HalfSpace,
            Shape::Box { half } => Shape::cuboid(l * half),
            Shape::Capsule { radius, half_length } => Shape::capsule(l * radius, l * half_length),
            Shape::Cylinder { radius, half_length } => Shape::cylinder(l * radius, l * half_length),
            Shape::Cone { radius, height } => Shape::cone(l * radius, l * height),
            Shape::Ellipsoid { half } => Shape::ellipsoid(l * half),
            Shape::Hull(hull) => {
                let points: Vec<_> = hull.vertices().iter().map(|p| l * p).collect();
                Shape::hull(&points).unwrap()
            }
            Shape::Rounded { core, radius } => Shape::rounded(self.shape(core), l * radius).unwrap(),
            Shape::Mesh(mesh) => {
                let vertices = mesh.vertices().iter().map(|p| l * p).collect();
                TriMesh::new(vertices, mesh.triangles().to_vec()).unwrap().into()
            }
            Shape::HeightField(field) => {
                let mut data = serde_json::to_value(field).unwrap();
                for key in ["spacing", "heights"] {
                    let list = data[key].as_array_mut().unwrap();
                    list.iter_mut().for_each(|x| *x = (l * x.as_f64().unwrap()).into());
                }
                Shape::HeightField(serde_json::from_value(data).unwrap())
            }
            Shape::Compound(compound) => {
                let part = |(p, s): &(Pose, Shape)| (self.pose(p), self.shape(s));
                Shape::compound(compound.parts().iter().map(part).collect()).unwrap()
            }
        }
    }

    fn pose(&self, pose: &Pose) -> Pose {
        Pose::new(self.length * pose.position, pose.rotation)
    }

    fn pair_law(&self, law: &PairLaw) -> PairLaw {
        PairLaw {
            stick_speed: self.speed() * law.stick_speed,
            bounce_speed: law.bounce_speed.map(|v| self.speed() * v),
            rolling: self.length * law.rolling,
            spinning: self.length * law.spinning,
            cohesion: self.force() * law.cohesion,
            stiffness: law.stiffness.map(|k| self.force() / self.length * k),
            damping: self.force() / self.speed() * law.damping,
            ..*law
        }
    }

    fn materials(&self, old: &Materials) -> Materials {
        let mut new = old.clone();
        new.set_other(self.pair_law(old.other())).unwrap();
        for ((a, b), law) in old.pairs() {
            new.set_pair(*a, *b, self.pair_law(law)).unwrap();
        }
        new
    }

    fn law(&self, law: &Law, angle: bool) -> Law {
        let (x, t) = (self.coordinate(angle), self.time);
        // Power over speed along the coordinate.
        let force = self.force() * self.length / x;
        let mut new = law.clone();
        if let Some(motor) = &mut new.motor {
            motor.limit *= force;
            motor.command = match &motor.command {
                Command::Position(f) => Command::Position(self.function(f, x)),
                Command::Speed(f) => Command::Speed(self.function(f, x / t)),
                Command::Force(f) => Command::Force(self.function(f, force)),
            };
        }
        if let Some(limits) = &mut new.limits {
            limits.lower *= x;
            limits.upper *= x;
        }
        new.friction *= force;
        if let Some(spring) = &mut new.spring {
            spring.rest *= x;
            spring.stiffness *= force / x;
            spring.damping *= force / x * t;
        }
        new
    }

    /// The same things in these units.
    fn of(&self, old: &Parts) -> Parts {
        let mut new = old.clone();
        let s = &mut new.settings;
        s.h *= self.time;
        s.gravity *= self.speed() / self.time;
        s.tolerance *= self.speed();
        s.envelope = s.envelope.map(|e| self.length * e);
        if let Stabilisation::Clamped { a } = &mut s.stabilisation {
            *a *= self.speed();
        }
        if let Some(p) = &mut s.periodic {
            p.min *= self.length;
            p.max *= self.length;
        }
        assert!(s.bounds.is_none() && s.sleep.is_none());
        new.time *= self.time;
        new.materials = self.materials(&old.materials);
        for b in &mut new.bodies {
            b.x *= self.length;
            b.v *= self.speed();
            b.omega /= self.time;
            let def = &mut b.def;
            def.position *= self.length;
            def.velocity *= self.speed();
            def.angular_velocity /= self.time;
            def.mass.mass *= self.mass;
            def.mass.inertia *= self.mass * self.length * self.length;
            if let Some(guide) = &mut def.guide {
                guide.along.iter_mut().for_each(|(_, f)| *f = self.function(f, self.length));
                guide.about.iter_mut().for_each(|(_, f)| *f = self.function(f, 1.0));
            }
            for c in &mut def.colliders {
                c.shape = self.shape(&c.shape);
                c.local = self.pose(&c.local);
                c.surface_velocity *= self.speed();
            }
        }
        for link in &mut new.links {
            let kind = &link.def.kind;
            let plain = [Kind::Fixed, Kind::Revolute, Kind::Prismatic, Kind::Ball, Kind::Universal];
            assert!(plain.contains(kind), "no scene of the zoo has a {}", kind.name());
            let angles = kind.coordinates();
            link.def.laws.iter_mut().zip(angles).for_each(|(law, angle)| *law = self.law(law, *angle));
            for (k, angle) in angles.iter().enumerate() {
                link.angle[k] *= self.coordinate(*angle);
            }
            frames(&mut link.def).into_iter().for_each(|f| *f = self.pose(f));
            link.def.length = link.def.length.map(|l| self.length * l);
            link.def.compliance[0] *= self.length / self.force();
            link.def.compliance[1] /= self.length * self.force();
        }
        new
    }

    /// Back from these units: position, rotation and velocities as bits.
    fn bits(&self, parts: &Parts) -> Vec<u64> {
        let all = parts.bodies.iter().flat_map(|b| {
            let (x, v, omega) = (b.x / self.length, b.v / self.speed(), b.omega * self.time);
            let all = [x.to_array(), v.to_array(), omega.to_array()].into_iter().flatten();
            all.chain(b.q.to_array()).collect::<Vec<_>>()
        });
        all.map(f64::to_bits).collect()
    }
}

const SAME: Units = Units { length: 1.0, mass: 1.0, time: 1.0 };
const LENGTHS: [Units; 2] = [Units { length: 64.0, ..SAME }, Units { length: 1.0 / 64.0, ..SAME }];
const MASSES: [Units; 2] = [Units { mass: 4096.0, ..SAME }, Units { mass: 1.0 / 4096.0, ..SAME }];
const TIMES: [Units; 2] = [Units { time: 64.0, ..SAME }, Units { time: 1.0 / 64.0, ..SAME }];

/// Runs scenes in other units: the first step of each that differs.
///
/// The tolerance is such that it is above 1e-5 m/s in all units: below that the solvers that factor are asked
/// for fewer digits.
fn differences(units: &[Units]) -> Vec<String> {
    let mut found = Vec::new();
    for seed in 1..=100 {
        let made = scene(seed).unwrap();
        if made.kind.name == "emitter" {
            continue;
        }
        let mut parts = SAME.of(&Parts::of(&made.world));
        parts.settings.tolerance = 1e-3;
        for u in units {
            let (mut a, mut b) = (parts.world(), u.of(&parts).world());
            for k in 0..steps(&made) {
                let (ra, rb) = (a.step(), b.step());
                let same = ra.is_ok() == rb.is_ok() && SAME.bits(&Parts::of(&a)) == u.bits(&Parts::of(&b));
                if !same {
                    found.push(format!("seed {seed}, {}, step {k}, {u:?}", made.kind.name));
                }
                if !same || ra.is_err() {
                    break;
                }
            }
        }
    }
    found
}

/// A scene in other units of length has the same bits.
#[test]
fn the_unit_of_length_does_not_matter() {
    let found = differences(&LENGTHS);
    assert!(found.is_empty(), "{found:#?}");
}

/// A scene in other units of mass has the same bits.
#[test]
fn the_unit_of_mass_does_not_matter() {
    let found = differences(&MASSES);
    assert!(found.is_empty(), "{found:#?}");
}

/// A scene in other units of time has the same bits.
#[test]
fn the_unit_of_time_does_not_matter() {
    let found = differences(&TIMES);
    assert!(found.is_empty(), "{found:#?}");
}
