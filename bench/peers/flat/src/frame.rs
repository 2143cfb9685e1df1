//! The little geometry that placing joints and solids takes. Quaternions are w, x, y, z.

pub type Vector = [f64; 3];
pub type Quaternion = [f64; 4];

pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn plus(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn minus(a: Vector, b: Vector) -> Vector {
    plus(a, scaled(b, -1.0))
}

pub fn scaled(a: Vector, s: f64) -> Vector {
    a.map(|x| s * x)
}

pub fn unit(a: Vector) -> Vector {
    scaled(a, 1.0 / dot(a, a).sqrt())
}

/// A unit vector across `axis`.
pub fn across(axis: Vector) -> Vector {
    let helper = if axis[0].abs() < 0.9 * dot(axis, axis).sqrt() { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    unit(cross(axis, helper))
}

pub fn normalized(q: Quaternion) -> Quaternion {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.map(|x| x / norm)
}

pub fn inverse(q: Quaternion) -> Quaternion {
    [q[0], -q[1], -q[2], -q[3]]
}

pub fn product(p: Quaternion, q: Quaternion) -> Quaternion {
    let (u, v) = ([p[1], p[2], p[3]], [q[1], q[2], q[3]]);
    let [x, y, z] = plus(cross(u, v), plus(scaled(v, p[0]), scaled(u, q[0])));
    [p[0] * q[0] - dot(u, v), x, y, z]
}

pub fn rotated(q: Quaternion, v: Vector) -> Vector {
    let [_, x, y, z] = product(product(q, [0.0, v[0], v[1], v[2]]), inverse(q));
    [x, y, z]
}

/// The shortest turn from one unit vector to another.
pub fn turn(from: Vector, to: Vector) -> Quaternion {
    let cosine = dot(from, to);
    if cosine < -0.999_999 {
        // Half a turn: about any axis across.
        let [x, y, z] = across(from);
        return [0.0, x, y, z];
    }
    let [x, y, z] = cross(from, to);
    normalized([1.0 + cosine, x, y, z])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(a: Vector, b: Vector) {
        assert!(minus(a, b).iter().all(|d| d.abs() < 1e-12), "{a:?} is not {b:?}");
    }

    #[test]
    fn quarter_turn_about_z_takes_x_to_y() {
        let half = std::f64::consts::FRAC_PI_4;
        assert_close(rotated([half.cos(), 0.0, 0.0, half.sin()], [1.0, 0.0, 0.0]), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn products_turn_one_after_the_other() {
        let (p, q) = (normalized([1.0, 2.0, -1.0, 0.5]), normalized([0.3, -1.0, 0.2, 2.0]));
        let v = [0.4, -1.5, 2.0];
        assert_close(rotated(product(p, q), v), rotated(p, rotated(q, v)));
        assert_close(rotated(inverse(p), rotated(p, v)), v);
    }

    #[test]
    fn turns_arrive_even_at_the_opposite() {
        let z = [0.0, 0.0, 1.0];
        for to in [unit([1.0, -2.0, 0.5]), [0.0, 0.0, -1.0], z, [-1.0, 0.0, 0.0]] {
            assert_close(rotated(turn(z, to), z), to);
        }
    }
}
