//! Heights over a rectangular grid.

use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

use super::Pose;
use crate::collide::Aabb;
use crate::collide::midphase::Skin;
use crate::limits::FARTHEST;

/// Ground as heights over a grid of points centred on the origin in x and y, solid below.
///
/// Point (column i, row j) is at x = (i − (columns−1)/2) dx, y = (j − (rows−1)/2) dy and has height
/// `heights[j * columns + i]`. Cell (i, j), number c = j (columns−1) + i, lies between that point and the
/// next ones; the diagonal from (i, j) to (i+1, j+1) cuts it into triangle 2c (towards +x) and triangle 2c +
/// 1 (towards +y), both counter-clockwise from above. As a shape it may have
/// [`MOST_PARTS`](super::MOST_PARTS) triangles, which is 725 by 725 points.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Data", into = "Data")]
pub struct HeightField {
    columns: usize,
    rows: usize,
    spacing: [f64; 2],
    heights: Vec<f64>,
    low: f64,
    high: f64,
    skin: Skin,
}

/// What a file holds of a height field.
#[derive(Serialize, Deserialize)]
struct Data {
    columns: usize,
    rows: usize,
    spacing: [f64; 2],
    heights: Vec<f64>,
}

impl TryFrom<Data> for HeightField {
    type Error = String;
    fn try_from(data: Data) -> Result<Self, String> {
        HeightField::new(data.columns, data.rows, data.spacing, data.heights)
    }
}

impl From<HeightField> for Data {
    fn from(field: HeightField) -> Self {
        let HeightField { columns, rows, spacing, heights, .. } = field;
        Data { columns, rows, spacing, heights }
    }
}

/// Grid and heights are all there is to it.
impl PartialEq for HeightField {
    fn eq(&self, other: &Self) -> bool {
        (self.columns, self.rows) == (other.columns, other.rows)
            && self.spacing == other.spacing
            && self.heights == other.heights
    }
}

impl HeightField {
    /// The field of `columns` points along x by `rows` points along y, m apart as `spacing` says. Heights in
    /// m, row by row.
    pub fn new(columns: usize, rows: usize, spacing: [f64; 2], heights: Vec<f64>) -> Result<Self, String> {
        for (name, n) in [("columns", columns), ("rows", rows)] {
            if n < 2 {
                return Err(format!("{name} must be at least 2, got {n}"));
            }
        }
        for (k, s) in spacing.iter().enumerate() {
            if !(s.is_finite() && *s > 0.0) {
                return Err(format!("spacing[{k}] must be positive and finite, got {s}"));
            }
        }
        if columns.checked_mul(rows) != Some(heights.len()) {
            return Err(format!(
                "heights must have columns times rows = {columns} times {rows} numbers, got {}",
                heights.len()
            ));
        }
        if heights.len() > u32::MAX as usize / 2 {
            return Err(format!(
                "{} heights are too many: triangles are numbered with 32 bits",
                heights.len()
            ));
        }
        if let Some(k) = heights.iter().position(|h| !h.is_finite()) {
            return Err(format!("heights[{k}] must be finite, got {}", heights[k]));
        }
        for (name, n, s) in [("columns", columns, spacing[0]), ("rows", rows, spacing[1])] {
            let size = (n - 1) as f64 * s;
            if size > FARTHEST {
                return Err(format!("spacing: {n} {name} must span at most {FARTHEST:e} m, got {size:e}"));
            }
        }
        if let Some(k) = heights.iter().position(|h| h.abs() > FARTHEST) {
            return Err(format!("heights[{k}] must be within {FARTHEST:e} m, got {:e}", heights[k]));
        }
        let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut field = Self { columns, rows, spacing, heights, low, high, skin: Skin::default() };
        field.skin = Skin::new(
            |k| field.triangle(k as usize),
            |k| field.normal(k as usize),
            |k, edge| field.neighbour(k as usize, edge),
            field.triangle_count() as u32,
        );
        Ok(field)
    }

    /// Points along x.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Points along y.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Distance of neighbouring points along x and y, m.
    pub fn spacing(&self) -> [f64; 2] {
        self.spacing
    }

    /// Row by row, m.
    pub fn heights(&self) -> &[f64] {
        &self.heights
    }

    /// Two for each cell.
    pub fn triangle_count(&self) -> usize {
        2 * (self.columns - 1) * (self.rows - 1)
    }

    /// The point in column `i` and row `j`, m.
    pub fn point(&self, i: usize, j: usize) -> DVec3 {
        DVec3::new(
            (i as f64 - 0.5 * (self.columns - 1) as f64) * self.spacing[0],
            (j as f64 - 0.5 * (self.rows - 1) as f64) * self.spacing[1],
            self.heights[j * self.columns + i],
        )
    }

    /// The corners of triangle `k`, m; the diagonal of the cell joins the first to the last (2c) or second
    /// (2c + 1).
    pub fn triangle(&self, k: usize) -> [DVec3; 3] {
        let cell = k / 2;
        let (i, j) = (cell % (self.columns - 1), cell / (self.columns - 1));
        let (here, opposite) = (self.point(i, j), self.point(i + 1, j + 1));
        if k.is_multiple_of(2) {
            [here, self.point(i + 1, j), opposite]
        } else {
            [here, opposite, self.point(i, j + 1)]
        }
    }

    /// Unit upward normal of triangle `k`.
    pub fn normal(&self, k: usize) -> DVec3 {
        let [a, b, c] = self.triangle(k);
        (b - a).cross(c - a).normalize()
    }

    /// The triangle across edge `edge` of triangle `k`, as in [`super::TriMesh::neighbour`]; None at the
    /// border.
    pub fn neighbour(&self, k: usize, edge: usize) -> Option<u32> {
        let (cell, across) = (k / 2, self.columns - 1);
        let (i, j) = (cell % across, cell / across);
        let to = match (k % 2, edge) {
            (0, 0) => (j > 0).then(|| 2 * (cell - across) + 1),
            (0, 1) => (i + 1 < across).then(|| 2 * (cell + 1) + 1),
            (0, 2) => Some(k + 1),
            (1, 0) => Some(k - 1),
            (1, 1) => (j + 2 < self.rows).then(|| 2 * (cell + across)),
            (1, 2) => (i > 0).then(|| 2 * (cell - 1)),
            _ => panic!("a triangle has no edge {edge}"),
        };
        to.map(|t| t as u32)
    }

    /// What the surface is like across its edges.
    #[doc(hidden)]
    pub fn skin(&self) -> &Skin {
        &self.skin
    }

    /// Visits, in rising order, the triangles of cells that the box reaches in x and y, unless the whole cell
    /// lies below the box. (Solid below: a box far under the surface still meets it.)
    #[doc(hidden)]
    pub fn triangles_in(&self, bounds: &Aabb, mut visit: impl FnMut(u32)) {
        let (Some(i), Some(j)) = (self.cells(bounds, 0), self.cells(bounds, 1)) else { return };
        for row in j {
            for column in i.clone() {
                let at = row * self.columns + column;
                let h = &self.heights;
                let top = h[at].max(h[at + 1]).max(h[at + self.columns]).max(h[at + self.columns + 1]);
                if top >= bounds.min.z {
                    let cell = (row * (self.columns - 1) + column) as u32;
                    visit(2 * cell);
                    visit(2 * cell + 1);
                }
            }
        }
    }

    /// Cells along an axis that share a point with the box.
    fn cells(&self, bounds: &Aabb, axis: usize) -> Option<std::ops::RangeInclusive<usize>> {
        let cells = [self.columns, self.rows][axis] - 1;
        let place = |x: f64| x / self.spacing[axis] + 0.5 * cells as f64;
        let (from, to) = (place(bounds.min[axis]), place(bounds.max[axis]));
        // A box that ends on a grid line touches the cells on both sides; rounding must not lose either.
        let slack = 1e-9;
        if !(from - slack <= cells as f64 && to + slack >= 0.0 && from <= to) {
            return None;
        }
        // Casts saturate: infinite bounds are all cells.
        let last = cells - 1;
        Some(((from - slack) as usize).min(last)..=((to + slack) as usize).min(last))
    }

    /// Height of the surface at (x, y), m; None beyond the border.
    pub fn height_at(&self, x: f64, y: f64) -> Option<f64> {
        let (i, j, s, t) = self.cell_at(x, y)?;
        let at = j * self.columns + i;
        let h = &self.heights;
        let (here, opposite) = (h[at], h[at + self.columns + 1]);
        Some(if s >= t {
            here + s * (h[at + 1] - here) + t * (opposite - h[at + 1])
        } else {
            here + t * (h[at + self.columns] - here) + s * (opposite - h[at + self.columns])
        })
    }

    /// The triangle over or under (x, y); None beyond the border.
    pub fn triangle_at(&self, x: f64, y: f64) -> Option<u32> {
        let (i, j, s, t) = self.cell_at(x, y)?;
        Some((2 * (j * (self.columns - 1) + i)) as u32 + u32::from(s < t))
    }

    /// The column and row of the cell at (x, y), and the place within it, each from 0 to 1.
    fn cell_at(&self, x: f64, y: f64) -> Option<(usize, usize, f64, f64)> {
        let (cells_x, cells_y) = ((self.columns - 1) as f64, (self.rows - 1) as f64);
        let u = x / self.spacing[0] + 0.5 * cells_x;
        let v = y / self.spacing[1] + 0.5 * cells_y;
        if !(0.0..=cells_x).contains(&u) || !(0.0..=cells_y).contains(&v) {
            return None;
        }
        let i = (u as usize).min(self.columns - 2);
        let j = (v as usize).min(self.rows - 2);
        Some((i, j, u - i as f64, v - j as f64))
    }

    /// World bounds at `pose`. Without end downwards (along the field's −z axis), where it is solid.
    pub fn aabb(&self, pose: &Pose) -> Aabb {
        let corner = self.point(0, 0);
        let centre = DVec3::new(0.0, 0.0, 0.5 * (self.low + self.high));
        let half = DVec3::new(-corner.x, -corner.y, 0.5 * (self.high - self.low));
        let m = DMat3::from_quat(pose.rotation);
        let reach = m.x_axis.abs() * half.x + m.y_axis.abs() * half.y + m.z_axis.abs() * half.z;
        let mut bounds = Aabb::around(pose.point(centre), reach);
        for k in 0..3 {
            if m.z_axis[k] > 0.0 {
                bounds.min[k] = f64::NEG_INFINITY;
            } else if m.z_axis[k] < 0.0 {
                bounds.max[k] = f64::INFINITY;
            }
        }
        bounds
    }

    /// The point of the surface furthest along `direction`.
    pub fn support(&self, direction: DVec3) -> DVec3 {
        let mut best = self.point(0, 0);
        for j in 0..self.rows {
            for i in 0..self.columns {
                let p = self.point(i, j);
                if p.dot(direction) > best.dot(direction) {
                    best = p;
                }
            }
        }
        best
    }
}
