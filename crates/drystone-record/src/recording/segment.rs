//! A segment while it is filled: columns of numbers, frame after frame.

use super::frame::{COLUMNS, Catalogue, Frame, StepRow};
use super::store::{Table, Values};
use super::sum::Span;

/// Frames, steps and newcomers that are not on the disk yet.
#[derive(Default)]
pub(super) struct Segment {
    /// Step, and rows of bodies, contacts and joints, frame by frame.
    steps: Vec<i64>,
    times: Vec<f64>,
    counts: [Vec<i64>; 3],
    body_ids: Vec<i64>,
    /// Position, orientation, velocity, angular velocity.
    bodies: [Vec<f64>; 4],
    contact_ids: Vec<i64>,
    materials: Vec<i64>,
    /// Point, normal, impulse, gap, friction.
    contacts: [Vec<f64>; 5],
    joint_ids: Vec<i64>,
    /// Force, torque, coordinates, motors.
    joints: [Vec<f64>; 4],
    rows: Vec<StepRow>,
    pub news: Catalogue,
}

impl Segment {
    pub fn frames(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.rows.is_empty() && self.news.is_empty()
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        let lists = self.bodies.iter().chain(&self.contacts).chain(&self.joints);
        8 * (lists.map(Vec::len).sum::<usize>() + self.rows.len() * COLUMNS.len())
    }

    pub fn step(&mut self, row: StepRow) {
        self.rows.push(row);
    }

    pub fn add(&mut self, frame: &Frame) {
        self.steps.push(frame.step as i64);
        self.times.push(frame.time);
        let (b, c, j) = (&frame.bodies, &frame.contacts, &frame.joints);
        for (list, n) in self.counts.iter_mut().zip([b.id.len(), c.gap.len(), j.id.len()]) {
            list.push(n as i64);
        }
        self.body_ids.extend(&b.id);
        self.bodies[0].extend(b.position.as_flattened());
        self.bodies[1].extend(b.orientation.as_flattened());
        self.bodies[2].extend(b.velocity.as_flattened());
        self.bodies[3].extend(b.angular_velocity.as_flattened());
        self.contact_ids.extend(c.bodies.as_flattened());
        self.materials.extend(c.materials.as_flattened());
        self.contacts[0].extend(c.point.as_flattened());
        self.contacts[1].extend(c.normal.as_flattened());
        self.contacts[2].extend(c.impulse.as_flattened());
        self.contacts[3].extend(&c.gap);
        self.contacts[4].extend(&c.friction);
        self.joint_ids.extend(&j.id);
        self.joints[0].extend(j.force.as_flattened());
        self.joints[1].extend(j.torque.as_flattened());
        self.joints[2].extend(j.coordinates.as_flattened());
        self.joints[3].extend(j.motors.as_flattened());
    }

    /// The steps that it knows of.
    pub fn span(&self) -> Span {
        let rows = self.rows.iter().map(|row| row[0] as u64);
        Span::of(self.steps.iter().map(|step| *step as u64).chain(rows))
    }

    /// What the index needs of it: times, and rows of bodies, frame by frame.
    pub fn moments(&self) -> (Vec<f64>, Vec<usize>) {
        (self.times.clone(), self.counts[0].iter().map(|n| *n as usize).collect())
    }

    /// Its tables, with numbers in single or double precision; those of the catalogue and of steps are always double.
    pub fn tables(self, double: bool, first_shape: usize) -> Vec<Table> {
        let mut tables = self.news.tables(first_shape);
        let mut add = |path: &str, values: Values, columns| tables.push(Table::new(path, values, columns));
        add("frames/step", Values::I64(self.steps), 1);
        add("frames/time", Values::F64(self.times), 1);
        let [bodies, contacts, joints] = self.counts;
        add("frames/bodies", Values::I64(bodies), 1);
        add("frames/contacts", Values::I64(contacts), 1);
        add("frames/joints", Values::I64(joints), 1);
        add("bodies/id", Values::I64(self.body_ids), 1);
        let names = ["position", "orientation", "velocity", "angular_velocity"];
        for ((name, list), columns) in names.iter().zip(self.bodies).zip([3, 4, 3, 3]) {
            add(&format!("bodies/{name}"), Values::real(list, double), columns);
        }
        add("contacts/bodies", Values::I64(self.contact_ids), 2);
        add("contacts/materials", Values::I64(self.materials), 2);
        let names = ["point", "normal", "impulse", "gap", "friction"];
        for ((name, list), columns) in names.iter().zip(self.contacts).zip([3, 3, 3, 1, 1]) {
            add(&format!("contacts/{name}"), Values::real(list, double), columns);
        }
        add("joints/id", Values::I64(self.joint_ids), 1);
        let names = ["force", "torque", "coordinates", "motors"];
        for (name, list) in names.iter().zip(self.joints) {
            add(&format!("joints/{name}"), Values::real(list, double), 3);
        }
        for (k, name) in COLUMNS.iter().enumerate() {
            add(&format!("steps/{name}"), Values::F64(self.rows.iter().map(|r| r[k]).collect()), 1);
        }
        tables
    }
}
