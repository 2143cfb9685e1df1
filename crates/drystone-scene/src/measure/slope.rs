//! The angle of the surface of a heap.

use drystone::World;
use glam::DVec3;

use super::Which;

/// What the surface is taken for.
pub(crate) enum Shape {
    /// A plane: height over both horizontal directions.
    Plane,
    /// Height over one horizontal direction; unit, z = 0.
    Along(DVec3),
    /// A cone about a vertical axis through a point: height over the distance from it.
    Cone(DVec3),
}

/// Fits the tops of the highest bodies of columns.
pub(crate) struct Slope {
    /// Where the surface is looked for, m.
    pub min: DVec3,
    pub max: DVec3,
    /// Columns along x and along y.
    pub cells: [usize; 2],
    pub shape: Shape,
    pub which: Which,
}

impl Slope {
    /// Angle over the horizontal (degrees), and height of the fitted surface in the middle of the region (m).
    /// The angle has the sign of the slope along a direction; down and out is above zero for a cone.
    pub fn read(&self, world: &World) -> [f64; 2] {
        let tops = self.tops(world);
        let middle = 0.5 * (self.min + self.max);
        let (slope, height) = match &self.shape {
            Shape::Plane => match fit_plane(&tops) {
                Some([a, b, c]) => (b.hypot(c), a + b * middle.x + c * middle.y),
                None => (f64::NAN, f64::NAN),
            },
            Shape::Along(direction) => {
                let line = fit_line(tops.iter().map(|p| (p.dot(*direction), p.z)));
                let [a, b] = line.unwrap_or([f64::NAN; 2]);
                (b, a + b * middle.dot(*direction))
            }
            Shape::Cone(axis) => {
                let from = |p: DVec3| (p - *axis).with_z(0.0).length();
                let [a, b] = fit_line(tops.iter().map(|p| (from(*p), p.z))).unwrap_or([f64::NAN; 2]);
                (-b, a + b * from(middle))
            }
        };
        [slope.atan().to_degrees(), height]
    }

    /// Of each column that has a body, the highest point of any.
    fn tops(&self, world: &World) -> Vec<DVec3> {
        let (model, s) = (world.model(), world.state());
        let [nx, ny] = self.cells;
        let size = self.max - self.min;
        let mut tops: Vec<Option<DVec3>> = vec![None; nx * ny];
        for (k, c) in model.colliders.iter().enumerate() {
            let i = c.body as usize;
            // What a sink has taken leaves a shape of no body.
            let Some(body) = model.bodies.get(i) else { continue };
            let x = s.position[i];
            let dynamic = body.alive && body.inv_mass > 0.0;
            let inside = self.min.cmple(x).all() && x.cmple(self.max).all();
            if !dynamic || !inside || !self.which.has(world, i) || model.is_sensor(k as u32) {
                continue;
            }
            let cell = |at: f64, n: usize| ((at * n as f64) as usize).min(n - 1);
            let place = cell((x.x - self.min.x) / size.x, nx) + nx * cell((x.y - self.min.y) / size.y, ny);
            let top = x.with_z(model.collider_aabb(s, k).max.z);
            if tops[place].is_none_or(|t| t.z < top.z) {
                tops[place] = Some(top);
            }
        }
        tops.into_iter().flatten().collect()
    }
}

/// a and b of y = a + b x, by least squares; None if all x are one.
fn fit_line(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<[f64; 2]> {
    let n = points.clone().count() as f64;
    let (sx, sy) = points.clone().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x, sy + y));
    let (mx, my) = (sx / n, sy / n);
    let (sxx, sxy) =
        points.fold((0.0, 0.0), |(sxx, sxy), (x, y)| (sxx + (x - mx).powi(2), sxy + (x - mx) * (y - my)));
    let b = sxy / sxx;
    (sxx > 0.0 && b.is_finite()).then_some([my - b * mx, b])
}

/// a, b and c of z = a + b x + c y, by least squares; None if all points are on a line.
fn fit_plane(points: &[DVec3]) -> Option<[f64; 3]> {
    let mean = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let [mut xx, mut xy, mut yy, mut xz, mut yz] = [0.0; 5];
    for p in points {
        let d = *p - mean;
        xx += d.x * d.x;
        xy += d.x * d.y;
        yy += d.y * d.y;
        xz += d.x * d.z;
        yz += d.y * d.z;
    }
    let det = xx * yy - xy * xy;
    // Against rounding of points on a line.
    if !(det > 1e-9 * (xx + yy).powi(2)) {
        return None;
    }
    let (b, c) = ((xz * yy - yz * xy) / det, (yz * xx - xz * xy) / det);
    Some([mean.z - b * mean.x - c * mean.y, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_and_lines_are_found() {
        let plane = |x: f64, y: f64| DVec3::new(x, y, 1.0 + 0.5 * x - 0.25 * y);
        let points = [plane(0.0, 0.0), plane(1.0, 0.0), plane(0.0, 2.0), plane(3.0, 1.0)];
        let [a, b, c] = fit_plane(&points).unwrap();
        assert!((a - 1.0).abs() < 1e-12 && (b - 0.5).abs() < 1e-12 && (c + 0.25).abs() < 1e-12);
        assert!(fit_plane(&[DVec3::ZERO, DVec3::X, DVec3::X * 2.0]).is_none());
        let [a, b] = fit_line([(0.0, 1.0), (2.0, 2.0), (4.0, 3.0)].into_iter()).unwrap();
        assert!((a - 1.0).abs() < 1e-12 && (b - 0.5).abs() < 1e-12);
        assert!(fit_line([(1.0, 1.0), (1.0, 2.0)].into_iter()).is_none());
    }
}
