//! Light and surfaces: what a sample looks like once it is known what it hits and how much light gets there.
//!
//! One key light with a disc wide enough for soft shadows, a sky that is brighter above (+z) than below,
//! darkened in crevices, a faint highlight, and a slight darkening where a surface turns away from the eye.
//! All sums are over amounts of light, not over encoded colours.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};

use super::ray::{Frame, Ray};
use super::scene::{Hit, Scene};
use super::{Picture, Rgb, Solid};

/// Directions that share out the disc of the light and the half-sphere of the sky among neighbouring samples.
pub(super) const DIRECTIONS: usize = 64;
/// Tangent of the angular radius of the key light.
const LIGHT_RADIUS: f64 = 0.07;
/// Crevices are dark up to this many body sizes away from a neighbour.
const CREVICE: f64 = 2.0;
const KEY: f32 = 0.76;
/// A weak light from the other side, without shadow, so that faces turned from the key light keep their
/// shape.
const FILL: f32 = 0.16;
const SKY: Vec3 = Vec3::new(0.46, 0.48, 0.52);
const BOUNCE: Vec3 = Vec3::new(0.25, 0.24, 0.23);
const HIGHLIGHT: f32 = 0.10;
/// Distances from the middle of the view, in half heights of it, between which grounds fade out.
const FADE: (f64, f64) = (1.6, 5.0);

/// A picture with its lights, ready to take samples.
pub(super) struct Studio<'a> {
    picture: &'a Picture,
    scene: &'a Scene,
    albedo: Vec<Vec3>,
    background: Vec3,
    /// Unit vector towards the middle of the key light.
    key: DVec3,
    fill: Vec3,
    key_disc: [DVec3; DIRECTIONS],
    /// Cosine-distributed directions about +z.
    sky_dome: [DVec3; DIRECTIONS],
    /// Half the height of the view at the point that the camera looks at, m.
    scale: f64,
    /// Width of a pixel at unit distance.
    pixel: f64,
    chequer: f64,
    sky_reach: f64,
}

/// What one sample sees, light not yet put together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Item, or [`Sample::NOTHING`].
    pub item: u32,
    /// Distance from the eye, m.
    pub depth: f32,
    pub normal: Vec3,
    /// Direction towards the eye.
    pub to_eye: Vec3,
    /// Share of light that the surface throws back, by colour.
    pub albedo: Vec3,
    /// How much of the surface is there; a ground fades out with distance.
    pub presence: f32,
    pub is_ground: bool,
    /// Whether this sample's part of the light disc, and of the sky, is in sight.
    pub sees: [f32; 2],
    /// Light added by translucent surfaces in front.
    pub veil: Vec3,
    /// Share of light that they let through.
    pub clear: f32,
}

impl Sample {
    pub const NOTHING: u32 = u32::MAX;

    /// Whether a neighbour lies on the same smooth piece of surface.
    pub fn continues(&self, other: &Sample) -> bool {
        other.item == self.item && other.normal.dot(self.normal) > 0.75
    }
}

impl<'a> Studio<'a> {
    pub fn new(picture: &'a Picture, scene: &'a Scene) -> Self {
        let camera = &picture.camera;
        let axes = camera.axes();
        let scale = (camera.from - camera.at).length() * camera.half_height();
        // The share of +z keeps shadows short when the camera looks straight down.
        let over_the_shoulder =
            (axes.world(DVec3::new(-0.5, 0.55, 0.5)) + 0.4 * DVec3::Z).normalize_or(DVec3::Z);
        let key = picture.light.and_then(DVec3::try_normalize).unwrap_or(over_the_shoulder);
        let (a, b) = key.any_orthonormal_pair();
        let disc = |k: usize, stretch: f64| {
            // A spiral by the golden angle fills a disc evenly with any number of points [Vogel1979].
            let radius = ((k as f64 + 0.5) / DIRECTIONS as f64).sqrt();
            let angle = k as f64 * PI * (3.0 - 5.0_f64.sqrt());
            (stretch * radius * angle.cos(), stretch * radius * angle.sin(), radius)
        };
        Self {
            picture,
            scene,
            albedo: picture.items.iter().map(|i| Vec3::from_array(i.colour.to_linear())).collect(),
            background: Vec3::from_array(picture.background.to_linear()),
            key,
            fill: axes.world(DVec3::new(0.65, 0.15, 0.6)).normalize().as_vec3(),
            key_disc: std::array::from_fn(|k| {
                let (x, y, _) = disc(k, LIGHT_RADIUS);
                (key + a * x + b * y).normalize()
            }),
            sky_dome: std::array::from_fn(|k| {
                let (x, y, radius) = disc(k, 1.0);
                DVec3::new(x, y, (1.0 - radius * radius).sqrt())
            }),
            scale,
            pixel: 2.0 * camera.half_height() / picture.height.max(1) as f64,
            chequer: round_length(0.3 * scale),
            sky_reach: (CREVICE * scene.body_size).min(0.5 * scale),
        }
    }

    /// Follows a ray from the eye. `turn` says which of the shared directions this sample looks along.
    pub fn sample(&self, ray: &Ray, turn: usize, veils: &mut Vec<Hit>) -> Sample {
        let mut sample = Sample {
            item: Sample::NOTHING,
            depth: f32::INFINITY,
            normal: Vec3::ZERO,
            to_eye: -ray.direction.as_vec3(),
            albedo: Vec3::ZERO,
            presence: 0.0,
            is_ground: false,
            sees: [1.0; 2],
            veil: Vec3::ZERO,
            clear: 1.0,
        };
        let hit = self.scene.nearest(ray);
        if let Some(hit) = hit {
            sample.item = self.picture.items[hit.item as usize].piece_of.unwrap_or(hit.item);
            sample.depth = hit.t as f32;
            sample.normal = hit.normal.as_vec3();
            let point = ray.at(hit.t);
            (sample.albedo, sample.presence) = self.surface(&hit, point, ray);
            sample.is_ground = matches!(self.picture.items[hit.item as usize].solid, Solid::Ground);
            if sample.presence > 0.0 {
                sample.sees = self.sees(hit.start, hit.normal, hit.t, turn);
            }
        }
        self.scene.veils(ray, hit.map_or(f64::INFINITY, |h| h.t), veils);
        for veil in veils.iter() {
            let (colour, cover) = self.veil(veil, ray);
            sample.veil += colour * (sample.clear * cover);
            sample.clear *= 1.0 - cover;
        }
        sample
    }

    /// Whether the surface point sees its turn of the light disc and of the sky.
    fn sees(&self, point: DVec3, normal: DVec3, depth: f64, turn: usize) -> [f32; 2] {
        let origin = point + normal * (1e-7 * (depth + self.scale));
        let towards_key = Ray { origin, direction: self.key_disc[turn] };
        let lit =
            normal.dot(towards_key.direction) > 0.0 && !self.scene.opaque.blocks(&towards_key, f64::INFINITY);
        let mut open = true;
        if self.sky_reach > 0.0 {
            let (a, b) = normal.any_orthonormal_pair();
            let d = self.sky_dome[turn];
            let towards_sky = Ray { origin, direction: a * d.x + b * d.y + normal * d.z };
            open = !self.scene.opaque.blocks(&towards_sky, self.sky_reach)
                && !self.scene.ground_within(&towards_sky, self.sky_reach);
        }
        [f32::from(u8::from(lit)), f32::from(u8::from(open))]
    }

    /// Albedo and presence of an opaque surface.
    fn surface(&self, hit: &Hit, point: DVec3, ray: &Ray) -> (Vec3, f32) {
        let albedo = self.albedo[hit.item as usize];
        match self.picture.items[hit.item as usize].solid {
            Solid::Ground => match self.scene.planes.iter().find(|p| p.item == hit.item) {
                Some(plane) => self.ground(albedo, &plane.frame, hit, point, ray),
                None => (albedo, 1.0),
            },
            _ => (albedo, 1.0),
        }
    }

    fn ground(&self, albedo: Vec3, frame: &Frame, hit: &Hit, point: DVec3, ray: &Ray) -> (Vec3, f32) {
        let at = self.picture.camera.at;
        let foot = at - hit.normal * hit.normal.dot(at - frame.origin);
        let away = (point - foot).length() / self.scale;
        let fade = 1.0 - smooth_step(FADE.0, FADE.1, away);
        let p = frame.point(point) / self.chequer;
        // Fields smaller than a pixel average out instead of flickering.
        let blur = hit.t * self.pixel / hit.normal.dot(ray.direction).abs().max(1e-3) / self.chequer;
        let field = square_wave(p.x, blur) * square_wave(p.y, blur);
        (albedo * (1.0 + 0.035 * field as f32), fade as f32)
    }

    /// Colour and cover of a translucent surface. Edges of boxes and rims of round bodies cover more, which
    /// is what makes a clear container readable.
    fn veil(&self, hit: &Hit, ray: &Ray) -> (Vec3, f32) {
        let item = &self.picture.items[hit.item as usize];
        let point = ray.at(hit.t);
        let (albedo, presence) = self.surface(hit, point, ray);
        let cover = item.opacity.clamp(0.0, 1.0) * presence;
        let facing = hit.normal.dot(self.key).abs() as f32;
        let light = SKY + KEY * facing * 0.7;
        let line = match hit.to_edge {
            Some(distance) => distance < 0.8 * self.pixel * hit.t,
            None => false,
        };
        if line {
            return (albedo * light * 0.45, (cover + 0.45).min(1.0));
        }
        let rim = match item.solid {
            Solid::Sphere { .. }
            | Solid::Capsule { .. }
            | Solid::Cylinder { .. }
            | Solid::Cone { .. }
            | Solid::Ellipsoid { .. }
            | Solid::Rounded { .. } => (1.0 - hit.normal.dot(ray.direction).abs() as f32).powi(4),
            _ => 0.0,
        };
        (albedo * light, cover + (1.0 - cover) * 0.5 * rim)
    }

    /// The light that reaches the eye, with the shares of key light and sky that arrive at the surface, and
    /// how much of a line along an edge is drawn over it.
    pub fn light(&self, s: &Sample, key_share: f32, sky_share: f32, line: f32) -> Vec3 {
        let mut light = self.background;
        if s.item != Sample::NOTHING {
            let key = self.key.as_vec3();
            let up = 0.5 + 0.5 * s.normal.z;
            let ambient = BOUNCE + (SKY - BOUNCE) * up;
            let diffuse = s.normal.dot(key).max(0.0) * key_share * KEY;
            let half = (key + s.to_eye).normalize_or_zero();
            let fill = s.normal.dot(self.fill).max(0.0) * FILL;
            // Even a closed crevice gets some light thrown from wall to wall.
            let open = 0.15 + 0.85 * sky_share;
            let mut out = s.albedo * ((ambient + Vec3::splat(fill)) * open + Vec3::splat(diffuse));
            if s.is_ground {
                // Relative to the fully lit plane, so that it meets the background without a step in
                // brightness.
                let full = ambient + Vec3::splat(fill + s.normal.dot(key).max(0.0) * KEY);
                out = out / full * 1.02;
            } else {
                let away = 1.0 - s.normal.dot(s.to_eye).clamp(0.0, 1.0);
                out *= 1.0 - 0.35 * away.powi(3);
                out += Vec3::splat(HIGHLIGHT * key_share * s.normal.dot(half).max(0.0).powi(50));
                out *= 1.0 - line;
            }
            light = light.lerp(out, s.presence);
        }
        s.veil + light * s.clear
    }

    pub fn encode(light: Vec3) -> [u8; 3] {
        Rgb::from_linear(light.to_array()).bytes()
    }
}

/// The nearest of 1, 2, 5, 10, ... times a power of ten below `x`.
fn round_length(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 1.0;
    }
    let decade = 10.0_f64.powf(x.log10().floor());
    let lead = x / decade;
    decade
        * if lead >= 5.0 {
            5.0
        } else if lead >= 2.0 {
            2.0
        } else {
            1.0
        }
}

fn smooth_step(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// +1 on [0, 1), -1 on [1, 2) and so on, averaged over a window of the given width.
fn square_wave(x: f64, width: f64) -> f64 {
    let width = width.max(1e-9);
    // Integral of the wave: a triangle between 0 and 1 with period 2.
    let integral = |x: f64| 1.0 - (x.rem_euclid(2.0) - 1.0).abs();
    (integral(x + 0.5 * width) - integral(x - 0.5 * width)) / width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_averaged_wave_is_sharp_when_narrow_and_flat_when_wide() {
        assert!((square_wave(0.5, 1e-3) - 1.0).abs() < 1e-9);
        assert!((square_wave(-0.5, 1e-3) + 1.0).abs() < 1e-9);
        assert!(square_wave(1.0, 0.2).abs() < 1e-9);
        assert!(square_wave(0.3, 40.0).abs() < 1e-9);
    }

    #[test]
    fn lengths_round_down_to_one_two_five() {
        for (x, rounded) in [(0.9, 0.5), (1.0, 1.0), (3.7, 2.0), (0.0051, 0.005), (180.0, 100.0)] {
            assert!((round_length(x) / rounded - 1.0).abs() < 1e-12, "{x}");
        }
    }
}
