//! Mass, centre and inertia of a body in a scene file: given, or those of its shapes.

use drystone::{MassProperties, Pose, Shape};
use glam::{DMat3, DVec3};

use super::settings::positive;
use crate::text::{At, Fault, Value};

/// `matter` are the shapes that the body is made of, with their places in its frame.
pub(super) fn read(at: &At, matter: &[(Pose, Shape)]) -> Result<MassProperties, Fault> {
    let volume: f64 = matter.iter().map(|(_, shape)| shape.volume()).sum();
    let mass = match (at.get("mass"), at.get("density")) {
        (Some(_), Some(density)) => return Err(density.fault("give mass or density, not both")),
        (Some(mass), None) => positive(&mass, "kg")?,
        (None, Some(density)) => {
            if volume == 0.0 {
                return Err(density.fault("a body without shape has no volume: give 'mass'"));
            }
            positive(&density, "kg/m³")? * volume
        }
        (None, None) => return Err(at.fault("a dynamic body needs 'mass' (kg) or 'density' (kg/m³)")),
    };
    let given = match (at.get("inertia"), at.get("centre")) {
        (Some(inertia), centre) => {
            let centre = centre.map_or(Ok(DVec3::ZERO), |c| c.vector())?;
            MassProperties { mass, centre, inertia: tensor(&inertia)? }
        }
        (None, Some(centre)) => {
            return Err(centre.fault("needs 'inertia' beside it: it is about that centre"));
        }
        (None, None) if matter.is_empty() => {
            return Err(at.fault("a body without shape needs 'inertia' (kg m²)"));
        }
        (None, None) => of_shapes(matter, mass, volume),
    };
    given
        .check()
        .map_err(|e| at.get("inertia").map_or_else(|| at.fault(e.clone()), |i| i.fault(e.clone())))?;
    Ok(given)
}

/// Three principal moments along the body's axes, or three rows of three.
fn tensor(at: &At) -> Result<DMat3, Fault> {
    let nested = at.items()?.any(|row| matches!(row.node.value, Value::Array(_)));
    if !nested {
        return Ok(DMat3::from_diagonal(at.vector()?));
    }
    let rows: Vec<DVec3> = at.items()?.map(|row| row.vector()).collect::<Result<_, _>>()?;
    match rows.as_slice() {
        &[x, y, z] => Ok(DMat3::from_cols(x, y, z).transpose()),
        _ => Err(at.fault(format!("must have 3 numbers or 3 rows of 3, got {} rows", rows.len()))),
    }
}

/// Of homogeneous shapes: the shares of the mass are those of the volume, and each inertia is carried to the
/// common centre (Steiner): I = Σ R Iᵢ Rᵀ + mᵢ (d² 1 - d dᵀ). Where shapes overlap, matter counts twice.
fn of_shapes(matter: &[(Pose, Shape)], mass: f64, volume: f64) -> MassProperties {
    let share = |shape: &Shape| mass * shape.volume() / volume;
    let place = |(pose, shape): &(Pose, Shape)| pose.point(shape.centroid());
    let moment: DVec3 = matter.iter().map(|m| share(&m.1) * place(m)).sum();
    let centre = moment / mass;
    let mut inertia = DMat3::ZERO;
    for m in matter {
        let (pose, shape) = m;
        let r = DMat3::from_quat(pose.rotation);
        let d = place(m) - centre;
        let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        let carried = DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer;
        inertia += r * shape.inertia(share(shape)) * r.transpose() + share(shape) * carried;
    }
    // Rounding in R I Rᵀ would leave a trace of asymmetry.
    MassProperties { mass, centre, inertia: 0.5 * (inertia + inertia.transpose()) }
}
