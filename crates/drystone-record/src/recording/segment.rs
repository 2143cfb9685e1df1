//! A segment while it is filled: frames and steps, and the tables that they become.

use super::frame::{COLUMNS, Catalogue, Frame, StepRow};
use super::store::{Table, Values};
use super::sum::Span;

/// Segments of more bytes are put into tables by several threads.
const MUCH: usize = 4 << 20;
/// Threads that do that, at most.
const THREADS: usize = 4;

/// Frames, steps and newcomers that are not on the disk yet.
#[derive(Default)]
pub(super) struct Segment {
    frames: Vec<Frame>,
    bytes: usize,
    rows: Vec<StepRow>,
    pub news: Catalogue,
}

impl Segment {
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.rows.is_empty() && self.news.is_empty()
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes + 8 * self.rows.len() * COLUMNS.len()
    }

    pub fn step(&mut self, row: StepRow) {
        self.rows.push(row);
    }

    pub fn add(&mut self, frame: Frame) {
        self.bytes += frame.bytes();
        self.frames.push(frame);
    }

    /// The steps that it knows of.
    pub fn span(&self) -> Span {
        let rows = self.rows.iter().map(|row| row[0] as u64);
        Span::of(self.frames.iter().map(|f| f.step).chain(rows))
    }

    /// What the index needs of it: times, and rows of bodies, frame by frame.
    pub fn moments(&self) -> (Vec<f64>, Vec<usize>) {
        self.frames.iter().map(|f| (f.time, f.bodies.id.len())).unzip()
    }

    /// Its tables, with numbers in single or double precision; those of the catalogue and of steps are always
    /// double.
    pub fn tables(&self, double: bool, first_shape: usize) -> Vec<Table> {
        let mut tables = self.news.tables(first_shape);
        tables.extend(made(&self.columns(double), self.bytes() > MUCH));
        for (k, name) in COLUMNS.iter().enumerate() {
            let column = Values::F64(self.rows.iter().map(|r| r[k]).collect());
            tables.push(Table::new(format!("steps/{name}"), column, 1));
        }
        tables
    }

    /// The tables of the frames.
    fn columns(&self, double: bool) -> Vec<Column<'_>> {
        let frames = &self.frames;
        let mut columns = vec![
            Column::each(frames, "frames/step", |f| f.step as i64),
            Column::times(frames),
            Column::each(frames, "frames/bodies", |f| f.bodies.id.len() as i64),
            Column::each(frames, "frames/contacts", |f| f.contacts.gap.len() as i64),
            Column::each(frames, "frames/joints", |f| f.joints.id.len() as i64),
        ];
        let whole: [(&str, usize, fn(&Frame) -> &[i64]); 4] = [
            ("bodies/id", 1, |f| &f.bodies.id),
            ("contacts/bodies", 2, |f| f.contacts.bodies.as_flattened()),
            ("contacts/materials", 2, |f| f.contacts.materials.as_flattened()),
            ("joints/id", 1, |f| &f.joints.id),
        ];
        let real: [(&str, usize, fn(&Frame) -> &[f64]); 13] = [
            ("bodies/position", 3, |f| f.bodies.position.as_flattened()),
            ("bodies/orientation", 4, |f| f.bodies.orientation.as_flattened()),
            ("bodies/velocity", 3, |f| f.bodies.velocity.as_flattened()),
            ("bodies/angular_velocity", 3, |f| f.bodies.angular_velocity.as_flattened()),
            ("contacts/point", 3, |f| f.contacts.point.as_flattened()),
            ("contacts/normal", 3, |f| f.contacts.normal.as_flattened()),
            ("contacts/impulse", 3, |f| f.contacts.impulse.as_flattened()),
            ("contacts/gap", 1, |f| &f.contacts.gap),
            ("contacts/friction", 1, |f| &f.contacts.friction),
            ("joints/force", 3, |f| f.joints.force.as_flattened()),
            ("joints/torque", 3, |f| f.joints.torque.as_flattened()),
            ("joints/coordinates", 3, |f| f.joints.coordinates.as_flattened()),
            ("joints/motors", 3, |f| f.joints.motors.as_flattened()),
        ];
        columns.extend(whole.map(|(path, columns, of)| Column {
            path,
            columns,
            values: Box::new(move || Values::I64(joined(frames, of))),
        }));
        columns.extend(real.map(|(path, columns, of)| Column {
            path,
            columns,
            values: Box::new(move || match double {
                true => Values::F64(joined(frames, of)),
                false => {
                    let mut all = Vec::with_capacity(frames.iter().map(|f| of(f).len()).sum());
                    frames.iter().for_each(|f| all.extend(of(f).iter().map(|x| *x as f32)));
                    Values::F32(all)
                }
            }),
        }));
        columns
    }
}

/// What all frames have of something, one after the other.
fn joined<T: Copy>(frames: &[Frame], of: fn(&Frame) -> &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(frames.iter().map(|f| of(f).len()).sum());
    frames.iter().for_each(|f| all.extend_from_slice(of(f)));
    all
}

/// A table that is not made yet.
struct Column<'a> {
    path: &'static str,
    columns: usize,
    values: Box<dyn Fn() -> Values + Send + Sync + 'a>,
}

impl<'a> Column<'a> {
    /// A whole number for each frame.
    fn each(frames: &'a [Frame], path: &'static str, of: fn(&Frame) -> i64) -> Self {
        let values = Box::new(move || Values::I64(frames.iter().map(of).collect()));
        Self { path, columns: 1, values }
    }

    fn times(frames: &'a [Frame]) -> Self {
        let values = Box::new(move || Values::F64(frames.iter().map(|f| f.time).collect()));
        Self { path: "frames/time", columns: 1, values }
    }

    fn table(&self) -> Table {
        Table::new(self.path, (self.values)(), self.columns)
    }
}

/// Makes tables, in their order; much of it by several threads, each of which takes every so many-th.
fn made(columns: &[Column], much: bool) -> Vec<Table> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = if much { (cores / 2).clamp(1, THREADS) } else { 1 };
    if threads == 1 {
        return columns.iter().map(Column::table).collect();
    }
    let mut tables: Vec<Option<Table>> = vec![None; columns.len()];
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|k| {
                let own = columns.iter().enumerate().skip(k).step_by(threads);
                scope.spawn(move || own.map(|(n, column)| (n, column.table())).collect::<Vec<_>>())
            })
            .collect();
        for part in parts {
            match part.join() {
                Ok(part) => part.into_iter().for_each(|(n, table)| tables[n] = Some(table)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    tables.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_change_nothing() {
        let mut segment = Segment::default();
        for k in 0..3u64 {
            let mut frame = Frame { step: k, time: 0.1 * k as f64, ..Frame::default() };
            for i in 0..5 {
                let x = (10 * k + i) as f64;
                frame.bodies.id.push(i as i64);
                frame.bodies.position.push([x, x + 0.5, -x]);
                frame.bodies.orientation.push([1.0, x, 0.0, 0.0]);
                frame.bodies.velocity.push([x; 3]);
                frame.bodies.angular_velocity.push([-x; 3]);
            }
            segment.add(frame);
        }
        let columns = segment.columns(false);
        let [one, many] = [false, true].map(|much| made(&columns, much));
        assert_eq!(one, many);
        let position = one.iter().find(|t| t.path == "bodies/position").unwrap();
        let Values::F32(x) = &position.values else { panic!("{position:?}") };
        assert_eq!((x.len(), position.columns, &x[15..18]), (45, 3, &[10.0f32, 10.5, -10.0][..]));
        assert_eq!(segment.moments(), (vec![0.0, 0.1, 0.2], vec![5, 5, 5]));
    }
}
