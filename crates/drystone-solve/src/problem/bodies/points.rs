//! Contact points with the round friction cone.

use crate::colour::Span;
use crate::problem::algebra::{basis, cross, dot};

/// Contact points, one array per quantity and component, in coloured order.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// First body.
    pub a: Vec<u32>,
    /// Second body, or [`WORLD`](super::WORLD).
    pub b: Vec<u32>,
    /// Unit normal from B to A; x, y, z.
    pub normal: [Vec<f64>; 3],
    /// From the centre of mass of A to the contact point, m.
    pub arm_a: [Vec<f64>; 3],
    /// From the centre of mass of B to the contact point, m; zero for [`WORLD`](super::WORLD).
    pub arm_b: [Vec<f64>; 3],
    /// Added to the relative velocity along the normal: gap/h, walls' own motion; m/s.
    pub bias: Vec<f64>,
    /// Added to the relative velocity across the normal: belts, walls' own motion; m/s, world axes; empty
    /// where nothing slides by itself.
    pub drift: [Vec<f64>; 3],
    /// Coefficient of friction; 0 leaves the normal row alone.
    pub mu: Vec<f64>,
    /// Compliance C of the normal row and of the tangential rows, (m/s)/(N s); empty where all is rigid.
    pub compliance: [Vec<f64>; 2],
    /// The colours.
    pub spans: Vec<Span>,
    /// The first span of each region, and of what joins them; empty where there are no regions.
    pub regions: Vec<u32>,
}

/// A contact point, as [`Points::fill`] takes it.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// First body, second body or [`WORLD`](super::WORLD).
    pub bodies: (u32, u32),
    /// Unit normal from B to A.
    pub normal: [f64; 3],
    /// From the centre of mass of A to the contact point, m.
    pub arm_a: [f64; 3],
    /// The same of B; zero for [`WORLD`](super::WORLD).
    pub arm_b: [f64; 3],
    /// Added to the relative velocity, m/s, world axes.
    pub bias: [f64; 3],
    /// Coefficient of friction.
    pub mu: f64,
    /// Of the normal row, (m/s)/(N s).
    pub compliance: f64,
}

impl Point {
    /// The bias along the normal, across it, and whether that is more than the dust that rounding leaves.
    #[inline]
    pub(super) fn split(&self) -> (f64, [f64; 3], bool) {
        let along = dot(self.bias, self.normal);
        let across: [f64; 3] = std::array::from_fn(|k| self.bias[k] - along * self.normal[k]);
        let dust = 1e-14 * dot(self.bias, self.bias).sqrt();
        (along, across, across.iter().any(|x| x.abs() > dust))
    }
}

/// The vector of point `i`, from its columns.
#[inline]
pub(super) fn at(field: &[Vec<f64>; 3], i: usize) -> [f64; 3] {
    [field[0][i], field[1][i], field[2][i]]
}

impl Points {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.a.is_empty()
    }

    /// (n, t₁, t₂) of point `i`.
    pub fn frame(&self, i: usize) -> [[f64; 3]; 3] {
        let n = at(&self.normal, i);
        let [t1, t2] = basis(n);
        [n, t1, t2]
    }

    /// Forgets all points, keeps the memory.
    pub fn clear(&mut self) {
        self.a.clear();
        self.b.clear();
        self.bias.clear();
        for field in [&mut self.normal, &mut self.arm_a, &mut self.arm_b, &mut self.drift] {
            field.iter_mut().for_each(Vec::clear);
        }
        self.mu.clear();
        self.compliance.iter_mut().for_each(Vec::clear);
        self.spans.clear();
        self.regions.clear();
    }

    /// Appends a point with a bias as a world vector; the caller keeps the coloured order.
    pub fn push(
        &mut self,
        (a, b): (u32, u32),
        normal: [f64; 3],
        arm_a: [f64; 3],
        arm_b: [f64; 3],
        bias: [f64; 3],
        mu: f64,
    ) {
        self.a.push(a);
        self.b.push(b);
        for k in 0..3 {
            self.normal[k].push(normal[k]);
            self.arm_a[k].push(arm_a[k]);
            self.arm_b[k].push(arm_b[k]);
        }
        let point = Point { bodies: (a, b), normal, arm_a, arm_b, bias, mu, compliance: 0.0 };
        let (along, across, slides) = point.split();
        self.bias.push(along);
        if !self.drift[0].is_empty() || slides {
            for (field, x) in self.drift.iter_mut().zip(across) {
                field.resize(self.mu.len(), 0.0);
                field.push(x);
            }
        }
        self.mu.push(mu);
    }

    /// Memory of the points, bytes.
    pub fn bytes(&self) -> usize {
        let fields = [&self.normal, &self.arm_a, &self.arm_b, &self.drift];
        let numbers =
            fields.iter().flat_map(|f| f.iter()).chain([&self.bias, &self.mu]).chain(&self.compliance);
        numbers.map(|v| size_of_val(v.as_slice())).sum::<usize>()
            + size_of_val(self.a.as_slice())
            + size_of_val(self.b.as_slice())
    }

    /// The bias of point `i` as a world vector, m/s.
    pub fn world_bias(&self, i: usize) -> [f64; 3] {
        let n = at(&self.normal, i).map(|x| x * self.bias[i]);
        if self.drift[0].is_empty() {
            return n;
        }
        let across = at(&self.drift, i);
        [n[0] + across[0], n[1] + across[1], n[2] + across[2]]
    }

    /// Multipliers `gamma` of point `i` as a world vector.
    #[inline]
    pub(crate) fn world(&self, i: usize, gamma: &[f64]) -> [f64; 3] {
        let [n, t1, t2] = self.frame(i);
        std::array::from_fn(|k| gamma[0] * n[k] + gamma[1] * t1[k] + gamma[2] * t2[k])
    }

    /// Multipliers `gamma` of point `i` as a world vector, and its moments about A and B.
    #[inline]
    pub(super) fn impulse(&self, i: usize, gamma: &[f64]) -> [[f64; 3]; 3] {
        let f = self.world(i, gamma);
        [f, cross(at(&self.arm_a, i), f), cross(at(&self.arm_b, i), f)]
    }

    /// C of the rows of point `i`, (m/s)/(N s).
    pub(super) fn compliance_of(&self, i: usize) -> [f64; 3] {
        if self.compliance[0].is_empty() {
            [0.0; 3]
        } else {
            [self.compliance[0][i], self.compliance[1][i], self.compliance[1][i]]
        }
    }
}
