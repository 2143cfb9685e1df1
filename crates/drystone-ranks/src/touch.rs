//! A contact as the walk sees it: two bodies, a frame, a cone.

use glam::DVec3;

/// No second body.
pub const NOBODY: u32 = u32::MAX;

/// The geometry of a contact.
#[derive(Clone, Copy)]
pub struct Touch {
    /// Places among the movers.
    pub a: u32,
    pub b: u32,
    pub frame: [DVec3; 3],
    pub arms: [DVec3; 2],
    /// Along the axes of the frame, m/s.
    pub bias: DVec3,
    /// Compliance along and across the normal, (m/s)/(N s).
    pub soft: [f64; 2],
    pub mu: f64,
    /// Mean diagonal, 1/kg, and its inverse.
    pub g: f64,
    pub eta: f64,
}

/// Projects on the friction cone, normal first.
#[inline(always)]
pub fn project(mu: f64, x: DVec3) -> DVec3 {
    let across = (x.y * x.y + x.z * x.z).sqrt();
    if mu * across <= -x.x {
        return DVec3::ZERO;
    }
    if across <= mu * x.x {
        return x;
    }
    let along = (mu * across + x.x) / (mu * mu + 1.0);
    let scale = if across > 0.0 { mu * along / across } else { 0.0 };
    DVec3::new(along, x.y * scale, x.z * scale)
}

impl Touch {
    /// A vector of the frame in world axes.
    #[inline(always)]
    pub fn place(&self, x: DVec3) -> DVec3 {
        self.frame[0] * x.x + self.frame[1] * x.y + self.frame[2] * x.z
    }

    /// The impulse γ on both bodies and about their centres, N s and N m s.
    #[inline(always)]
    pub fn impulses(&self, gamma: DVec3) -> [[DVec3; 2]; 2] {
        let push = self.place(gamma);
        [[push, self.arms[0].cross(push)], [-push, self.arms[1].cross(-push)]]
    }

    /// C x.
    #[inline(always)]
    pub fn give(&self, x: DVec3) -> DVec3 {
        DVec3::new(self.soft[0] * x.x, self.soft[1] * x.y, self.soft[1] * x.z)
    }

    /// ⟨γ, C γ⟩, J.
    pub fn soft(&self, gamma: DVec3) -> f64 {
        gamma.dot(self.give(gamma))
    }

    /// ⟨γ, b⟩, J.
    pub fn work(&self, gamma: DVec3) -> f64 {
        gamma.dot(self.bias)
    }

    /// 1 if it gives way.
    pub fn is_soft(&self) -> f64 {
        f64::from(u8::from(self.soft != [0.0; 2]))
    }

    /// 1 if it asks for a motion of bodies at rest.
    pub fn asks(&self) -> f64 {
        let across = self.bias.y.hypot(self.bias.z);
        f64::from(u8::from(self.bias.x - self.mu * across < -1e-12 * (1.0 + self.bias.x.abs())))
    }

    /// The velocities of its bodies, among those of all.
    #[inline(always)]
    pub fn ends(&self, v: &[[DVec3; 2]]) -> [[DVec3; 2]; 2] {
        [v[self.a as usize], if self.b == NOBODY { [DVec3::ZERO; 2] } else { v[self.b as usize] }]
    }

    /// Dᵀv + b of the velocities of its bodies.
    #[inline(always)]
    pub fn between(&self, [a, b]: &[[DVec3; 2]; 2]) -> DVec3 {
        let mut u = a[0] + a[1].cross(self.arms[0]);
        if self.b != NOBODY {
            u -= b[0] + b[1].cross(self.arms[1]);
        }
        DVec3::new(self.frame[0].dot(u), self.frame[1].dot(u), self.frame[2].dot(u)) + self.bias
    }

    /// Dᵀv + b of velocities of all bodies.
    #[inline(always)]
    pub fn relative(&self, v: &[[DVec3; 2]]) -> DVec3 {
        self.between(&self.ends(v))
    }

    /// The natural-map residual of γ at velocity u, m/s.
    #[inline(always)]
    pub fn residual(&self, gamma: DVec3, u: DVec3) -> f64 {
        (gamma - project(self.mu, gamma - self.eta * u)).length() * self.g
    }
}
