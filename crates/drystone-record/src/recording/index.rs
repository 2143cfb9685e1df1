//! The index of a recording in the form that VTK and ParaView read: a VTKHDF file of points that move, whose
//! numbers stay in the segments. Each body that can move is a point with its number, orientation and
//! velocities.

use std::path::Path;

use super::RecordError;
use super::store::{Joined, Part, Store, Table, Values};

/// Frames of all segments so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    pub times: Vec<f64>,
    /// Rows of bodies of each frame.
    pub counts: Vec<usize>,
    pub parts: Vec<Part>,
}

impl Index {
    /// Writes it; `double` tells what the segments hold.
    pub fn write(&self, store: &dyn Store, to: &Path, double: bool) -> Result<(), RecordError> {
        let steps = self.times.len();
        let most = self.counts.iter().copied().max().unwrap_or(0) as i64;
        let whole = |list: Vec<i64>| Values::I64(list);
        let counts: Vec<i64> = self.counts.iter().map(|n| *n as i64).collect();
        let offsets: Vec<i64> =
            counts.iter().scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))).collect();
        let mut own = Vec::new();
        let mut add = |path: &str, values: Values, columns: usize| {
            own.push(Table::new(format!("VTKHDF/{path}"), values, columns));
        };
        add("NumberOfPoints", whole(counts.clone()), 1);
        // Cells of a frame are its points: the first of a list that is as long as the longest needs.
        add("Vertices/NumberOfCells", whole(counts.clone()), 1);
        add("Vertices/NumberOfConnectivityIds", whole(counts), 1);
        add("Vertices/Connectivity", whole((0..most).collect()), 1);
        add("Vertices/Offsets", whole((0..=most).collect()), 1);
        for kind in ["Lines", "Polygons", "Strips"] {
            add(&format!("{kind}/NumberOfCells"), whole(vec![0; steps]), 1);
            add(&format!("{kind}/NumberOfConnectivityIds"), whole(vec![0; steps]), 1);
            add(&format!("{kind}/Connectivity"), whole(Vec::new()), 1);
            add(&format!("{kind}/Offsets"), whole(vec![0]), 1);
        }
        add("Steps/Values", Values::F64(self.times.clone()), 1);
        add("Steps/NumberOfParts", whole(vec![1; steps]), 1);
        // Counts are looked up by part, and every frame is a part of its own.
        add("Steps/PartOffsets", whole((0..steps as i64).collect()), 1);
        add("Steps/PointOffsets", whole(offsets.clone()), 1);
        add("Steps/CellOffsets", whole(vec![0; 4 * steps]), 4);
        add("Steps/ConnectivityIdOffsets", whole(vec![0; 4 * steps]), 4);
        let real = Values::real(Vec::new(), double);
        let data = [
            ("BodyId", "bodies/id", whole(Vec::new()), 1),
            ("Orientation", "bodies/orientation", real.clone(), 4),
            ("Velocity", "bodies/velocity", real.clone(), 3),
            ("AngularVelocity", "bodies/angular_velocity", real.clone(), 3),
        ];
        for (name, ..) in &data {
            add(&format!("Steps/PointDataOffsets/{name}"), whole(offsets.clone()), 1);
        }
        let mut joined = vec![Joined {
            path: "VTKHDF/Points".into(),
            source: "bodies/position".into(),
            kind: real,
            columns: 3,
        }];
        joined.extend(data.into_iter().map(|(name, source, kind, columns)| Joined {
            path: format!("VTKHDF/PointData/{name}"),
            source: source.into(),
            kind,
            columns,
        }));
        store.write_index(to, steps, &own, &joined, &self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hdf5::Hdf5;
    use super::*;

    /// It is written again with every segment: it must not grow with the bodies.
    #[test]
    fn an_index_is_small() {
        let to = std::env::temp_dir().join(format!("drystone-index-{}.vtkhdf", std::process::id()));
        let part = |k: usize| Part { file: format!("run.{k:05}.h5"), rows: 50_000 };
        let index = Index { times: vec![0.0; 100], counts: vec![1000; 100], parts: vec![part(0), part(1)] };
        index.write(&Hdf5 { compress: true }, &to, false).unwrap();
        let bytes = std::fs::metadata(&to).unwrap().len();
        std::fs::remove_file(to).unwrap();
        assert!(bytes < 200_000, "{bytes} bytes");
    }
}
