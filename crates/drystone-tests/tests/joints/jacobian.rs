//! Every Jacobian against central differences of Ψ itself.

use drystone::joint::{Bushing, CoupledBushing, Kind, Placed, Sort, Trajectory};
use drystone::random::Random;
use drystone::{Function, Pose};
use glam::{DMat3, DQuat, DVec3};

/// Two bodies and a frame on each.
#[derive(Clone, Copy)]
struct Pair {
    position: [DVec3; 2],
    rotation: [DQuat; 2],
    frame: [(DVec3, DQuat); 2],
    /// The frames when the joint was made.
    reference: [Pose; 2],
}

impl Pair {
    fn placed(&self, time: [f64; 2]) -> Placed<'_> {
        let arm = [0, 1].map(|k| self.rotation[k] * self.frame[k].0);
        Placed {
            origin: [0, 1].map(|k| self.position[k] + arm[k]),
            axes: [0, 1].map(|k| DMat3::from_quat(self.rotation[k] * self.frame[k].1)),
            arm,
            length: 0.37,
            time,
            reference: &self.reference,
            angle: [0.0; 3],
        }
    }

    /// Moved by `dt` times a twist of each body.
    fn moved(&self, twist: &[f64; 12], dt: f64) -> Pair {
        let v = |k: usize| DVec3::new(twist[k], twist[k + 1], twist[k + 2]);
        let mut out = *self;
        for k in 0..2 {
            out.position[k] += dt * v(6 * k);
            out.rotation[k] = DQuat::from_scaled_axis(dt * v(6 * k + 3)) * self.rotation[k];
        }
        out
    }

    /// B placed so that the frames differ by `offset` and `turn`, seen from A.
    fn joined(mut self, offset: DVec3, turn: DQuat) -> Pair {
        let qa = self.rotation[0] * self.frame[0].1;
        let origin = self.position[0] + self.rotation[0] * self.frame[0].0 + qa * offset;
        self.rotation[1] = qa * turn * self.frame[1].1.conjugate();
        self.position[1] = origin - self.rotation[1] * self.frame[1].0;
        self
    }
}

fn vector(r: &mut Random) -> DVec3 {
    DVec3::new(r.range(-1.0, 1.0), r.range(-1.0, 1.0), r.range(-1.0, 1.0))
}

fn rotation(r: &mut Random) -> DQuat {
    DQuat::from_scaled_axis(2.0 * vector(r))
}

fn pair(r: &mut Random) -> Pair {
    let (position, rotations) = ([vector(r), vector(r)], [rotation(r), rotation(r)]);
    let frame = [(vector(r), rotation(r)), (vector(r), rotation(r))];
    let reference = frame.map(|f| Pose { position: 0.1 * DVec3::ONE, rotation: f.1 });
    Pair { position, rotation: rotations, frame, reference }
}

fn kinds() -> Vec<Kind> {
    vec![
        Kind::Fixed,
        Kind::Revolute,
        Kind::Prismatic,
        Kind::Cylindrical,
        Kind::Ball,
        Kind::Universal,
        Kind::Planar,
        Kind::PointOnLine,
        Kind::PointOnPlane,
        Kind::Distance { length: 0.8 },
        Kind::Rope { length: 1.3 },
        Kind::Spring { length: 0.4, stiffness: 3.0, damping: 0.1 },
        Kind::Screw { pitch: 0.7 },
        Kind::Gear { ratio: -1.7 },
        Kind::RackAndPinion { radius: 0.3 },
        Kind::Pulley {
            points: [DVec3::new(0.0, 1.0, 5.0), DVec3::new(1.0, 0.0, 4.0)],
            ratio: 2.0,
            length: 7.0,
        },
        Kind::Bushing(Box::new(Bushing {
            stiffness: DVec3::ONE,
            angular_stiffness: DVec3::ONE,
            ..Default::default()
        })),
        Kind::CoupledBushing(Box::new(coupled())),
        Kind::Trajectory(Box::new(trajectory())),
        Kind::RollingDisc { radius: 0.6 },
    ]
}

fn coupled() -> CoupledBushing {
    let mut r = Random::new(31);
    let b: [[f64; 6]; 6] = std::array::from_fn(|_| std::array::from_fn(|_| r.range(-1.0, 1.0)));
    let square = std::array::from_fn(|i| std::array::from_fn(|j| (0..6).map(|k| b[i][k] * b[j][k]).sum()));
    CoupledBushing::new(square, [[0.0; 6]; 6]).unwrap()
}

fn trajectory() -> Trajectory {
    let sine = |amplitude, phase| Function::Sine { mean: 0.1, amplitude, frequency: 0.5, phase };
    Trajectory {
        position: [sine(1.0, 0.0), sine(0.5, 1.0), Function::Constant(0.3)],
        rotation: Some([sine(0.4, 0.3), sine(0.2, 2.0), sine(0.7, 1.5)]),
    }
}

/// What is about velocities only: the blade's own motion across itself, and a disc that rolls about its
/// lowest point.
#[test]
fn nonholonomic_rows_are_velocities_of_points() {
    let mut r = Random::new(5);
    for _ in 0..50 {
        let (pair, twist) = (pair(&mut r), twist(&mut r));
        let placed = pair.placed([0.3; 2]);
        let v = |k: usize, at: DVec3| {
            let part = |m: usize| DVec3::new(twist[6 * k + m], twist[6 * k + m + 1], twist[6 * k + m + 2]);
            part(0) + part(3).cross(at - pair.position[k])
        };
        let point = placed.origin[1];
        let blade = Kind::KnifeEdge.equations(&placed);
        let expected = placed.axes[1].y_axis.dot(v(1, point) - v(0, point));
        assert!((dot(&blade.rows()[0].jacobian, &twist) - expected).abs() < 1e-12);
        assert_eq!(blade.rows()[0].sort, Sort::Nonholonomic);
        // The lowest of many points around the disc.
        let radius = 0.6;
        let [x, y] = [placed.axes[1].x_axis, placed.axes[1].y_axis];
        let rim = |t: f64| point + radius * (t.cos() * x + t.sin() * y);
        let up = placed.axes[0].z_axis;
        let lowest = (0..100_000).map(|k| rim(k as f64 * std::f64::consts::TAU / 1e5));
        let lowest = lowest.min_by(|a, b| a.dot(up).total_cmp(&b.dot(up))).unwrap();
        let disc = Kind::RollingDisc { radius }.equations(&placed);
        assert!((disc.rows()[0].error - up.dot(lowest - placed.origin[0])).abs() < 1e-8);
        for (row, axis) in disc.rows()[1..].iter().zip([placed.axes[0].x_axis, placed.axes[0].y_axis]) {
            let expected = axis.dot(v(1, lowest) - v(0, lowest));
            assert!((dot(&row.jacobian, &twist) - expected).abs() < 1e-3, "{expected}");
        }
    }
}

/// The rate of an equation is what it changes by itself from the start to the end of a step.
#[test]
fn rates_are_differences_over_the_step() {
    let mut r = Random::new(6);
    let kind = Kind::Trajectory(Box::new(trajectory()));
    for _ in 0..20 {
        let pair = pair(&mut r);
        let (t, h) = (r.range(0.0, 3.0), 0.01);
        let rows = kind.equations(&pair.placed([t, t + h]));
        let then = kind.equations(&pair.placed([t + h, t + h]));
        for (now, then) in rows.rows().iter().zip(then.rows()) {
            assert!((now.error + h * now.rate - then.error).abs() < 1e-13);
            assert_eq!(then.rate, 0.0);
        }
    }
}

fn twist(r: &mut Random) -> [f64; 12] {
    std::array::from_fn(|_| r.range(-1.0, 1.0))
}

fn dot(a: &[f64; 12], b: &[f64; 12]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Rows are derivatives of the equations anywhere, not only where those hold.
#[test]
fn rows_are_derivatives_of_the_equations() {
    let mut r = Random::new(3);
    let d = 1e-6;
    for kind in kinds() {
        for _ in 0..20 {
            let (pair, twist) = (pair(&mut r), twist(&mut r));
            let [at, up, down] =
                [0.0, d, -d].map(|s| kind.equations(&pair.moved(&twist, s).placed([0.3; 2])));
            for (k, row) in at.rows().iter().enumerate().filter(|(_, r)| r.sort != Sort::Nonholonomic) {
                let slope = (up.rows()[k].error - down.rows()[k].error) / (2.0 * d);
                let exact = dot(&row.jacobian, &twist);
                assert!(
                    (slope - exact).abs() < 1e-8 * (1.0 + exact.abs()),
                    "{kind:?} row {k}: {slope}, {exact}"
                );
            }
        }
    }
}

/// A motion that the joint allows, by projecting a random twist on the null space of its rows.
fn allowed(kind: &Kind, pair: &Pair, mut twist: [f64; 12]) -> [f64; 12] {
    // Repeated projections on each row: rows of one joint are few and nearly orthogonal.
    let e = kind.equations(&pair.placed([0.3; 2]));
    for _ in 0..2000 {
        for row in e.rows().iter().filter(|r| r.sort == Sort::Holonomic) {
            let much = dot(&row.jacobian, &twist) / dot(&row.jacobian, &row.jacobian);
            (0..12).for_each(|k| twist[k] -= much * row.jacobian[k]);
        }
    }
    twist
}

/// Free coordinates are told apart by where a joint may go; their rows give their rates there.
#[test]
fn coordinates_have_their_rates() {
    let mut r = Random::new(4);
    let d = 1e-6;
    for kind in kinds() {
        for _ in 0..20 {
            let (x, y, z) = (r.range(-1.0, 1.0), r.range(-1.0, 1.0), r.range(-1.0, 1.0));
            let (offset, turn) = match kind {
                Kind::Revolute => (DVec3::ZERO, DQuat::from_rotation_z(x)),
                Kind::Prismatic => (DVec3::Z * x, DQuat::IDENTITY),
                Kind::Cylindrical => (DVec3::Z * x, DQuat::from_rotation_z(y)),
                Kind::Screw { pitch } => {
                    (DVec3::Z * x * pitch / std::f64::consts::TAU, DQuat::from_rotation_z(x))
                }
                Kind::Universal => (DVec3::ZERO, DQuat::from_rotation_x(x) * DQuat::from_rotation_y(y)),
                Kind::Planar => (DVec3::new(x, y, 0.0), DQuat::from_rotation_z(z)),
                Kind::PointOnLine => (DVec3::Z * x, rotation(&mut r)),
                Kind::PointOnPlane => (DVec3::new(x, y, 0.0), rotation(&mut r)),
                _ => (DVec3::new(x, y, z), rotation(&mut r)),
            };
            let pair = pair(&mut r).joined(offset, turn);
            let twist = allowed(&kind, &pair, twist(&mut r));
            let at = kind.equations(&pair.placed([0.3; 2]));
            let expected: &[f64] = match kind {
                Kind::Revolute | Kind::Prismatic | Kind::PointOnLine | Kind::Screw { .. } => &[x],
                Kind::Cylindrical | Kind::Universal | Kind::PointOnPlane => &[x, y],
                Kind::Planar => &[x, y, z],
                _ => &[],
            };
            for (c, x) in at.coordinates().iter().zip(expected) {
                assert!((c.value - x).abs() < 1e-12, "{kind:?}: {} for {x}", c.value);
            }
            assert_eq!(at.coordinates().len(), kind.coordinates().len());
            let [up, down] = [d, -d].map(|s| kind.equations(&pair.moved(&twist, s).placed([0.3; 2])));
            for (k, c) in at.coordinates().iter().enumerate() {
                assert_eq!(c.angular, kind.coordinates()[k], "{kind:?}");
                let slope = (up.coordinates()[k].value - down.coordinates()[k].value) / (2.0 * d);
                let exact = dot(&c.jacobian, &twist);
                assert!((slope - exact).abs() < 1e-7 * (1.0 + exact.abs()), "{kind:?} {k}: {slope}, {exact}");
            }
        }
    }
}
