//! Tables as CSV: one row for a body, contact, joint or step and moment.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use drystone::Motion;

use super::vtp::place;
use super::{Names, Selection};
use crate::parquet;
use crate::recording::{COLUMNS, RecordError, Recording};
use crate::table::quoted;

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Motion of bodies.
    Bodies,
    /// Contacts with their impulses.
    Contacts,
    /// Joints with their reactions.
    Joints,
    /// The report of every step.
    Steps,
}

impl Table {
    /// As the command line spells them.
    pub const NAMES: [(&'static str, Table); 4] = [
        ("bodies", Table::Bodies),
        ("contacts", Table::Contacts),
        ("joints", Table::Joints),
        ("steps", Table::Steps),
    ];
}

/// What a column of a table holds, for Parquet.
fn holds(column: &str) -> parquet::Kind {
    match column {
        "body" | "body_a" | "body_b" | "joint" | "material_a" | "material_b" => parquet::Kind::Text,
        "step" => parquet::Kind::Whole,
        _ => parquet::Kind::Real,
    }
}

/// Writes a table as a Parquet file, by way of a CSV file beside it.
///
/// # Errors
/// As [`csv`].
pub fn parquet(
    recording: &Recording,
    selection: &Selection,
    table: Table,
    to: &Path,
) -> Result<(), RecordError> {
    let rows = to.with_extension("parquet.csv");
    let bad = |e: std::io::Error| RecordError::File { file: to.into(), text: e.to_string() };
    let file = std::fs::File::create(&rows).map_err(bad)?;
    let mut text = std::io::BufWriter::new(file);
    let made = csv(recording, selection, table, &mut text)
        .and_then(|()| text.flush().map_err(bad))
        .and_then(|()| parquet::from_csv(&rows, to, holds).map_err(bad));
    let _ = std::fs::remove_file(&rows);
    made
}

/// Numbers with as many digits as they have, which in single precision are fewer.
fn join(numbers: impl IntoIterator<Item = f64>, double: bool) -> String {
    let cell = |x: f64| match x {
        _ if x.is_nan() => String::new(),
        0.0 => "0".into(),
        _ if (1e-4..1e15).contains(&x.abs()) => {
            if double {
                x.to_string()
            } else {
                (x as f32).to_string()
            }
        }
        _ if double => format!("{x:e}"),
        _ => format!("{:e}", x as f32),
    };
    numbers.into_iter().map(cell).collect::<Vec<_>>().join(",")
}

/// Writes a table. Lengths in m, times in s, forces in N (impulses over the step), angles in rad; what is not
/// known is empty.
///
/// # Errors
/// For a recording that cannot be read, and a place that cannot be written.
pub fn csv(
    recording: &Recording,
    selection: &Selection,
    table: Table,
    to: &mut dyn Write,
) -> Result<(), RecordError> {
    let bad = |e: std::io::Error| RecordError::Form(format!("writing the table: {e}"));
    let names = Names::of(recording.catalogue());
    let (h, double) = (recording.step_s(), recording.is_double());
    let head = match table {
        Table::Bodies => {
            "step,time_s,body,x_m,y_m,z_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s".to_string()
        }
        Table::Contacts => "step,time_s,body_a,body_b,x_m,y_m,z_m,nx,ny,nz,fx_n,fy_n,fz_n,gap_m,friction,material_a,material_b".into(),
        Table::Joints => "step,time_s,joint,fx_n,fy_n,fz_n,tx_nm,ty_nm,tz_nm,coordinate_0,coordinate_1,coordinate_2,motor_0,motor_1,motor_2".into(),
        Table::Steps => COLUMNS.join(","),
    };
    writeln!(to, "{head}").map_err(bad)?;
    if table == Table::Steps {
        let (first, last) = selection.times;
        for row in recording.steps().iter().filter(|r| first <= r[1] && r[1] <= last) {
            writeln!(to, "{}", join(*row, true)).map_err(bad)?;
        }
        return Ok(());
    }
    let material = |m: i64| {
        let name = usize::try_from(m).ok().and_then(|m| recording.catalogue().materials.get(m));
        quoted(name.map_or("", String::as_str))
    };
    // Static bodies are in no frame: those that are named stand where they stood.
    let named =
        recording.catalogue().bodies.iter().filter(|b| selection.bodies.is_some() && selection.has(b.id));
    let fixed: Vec<i64> = named.filter(|b| b.motion == Motion::Static).map(|b| b.id).collect();
    for k in &selection.frames {
        let f = recording.frame(*k)?;
        let when = format!("{},{}", f.step, f.time);
        match table {
            Table::Bodies => {
                let b = &f.bodies;
                for i in (0..b.id.len()).filter(|i| selection.has(b.id[*i])) {
                    let numbers = b.position[i].into_iter().chain(b.orientation[i]);
                    let numbers = numbers.chain(b.velocity[i]).chain(b.angular_velocity[i]);
                    writeln!(to, "{when},{},{}", quoted(&names.body(b.id[i])), join(numbers, double))
                        .map_err(bad)?;
                }
                for id in &fixed {
                    let Some((pose, _)) = place(recording.catalogue(), &f, &HashMap::new(), *id) else {
                        continue;
                    };
                    let [x, y, z, w] = pose.rotation.to_array();
                    let numbers = pose.position.to_array().into_iter().chain([w, x, y, z]).chain([0.0; 6]);
                    writeln!(to, "{when},{},{}", quoted(&names.body(*id)), join(numbers, double))
                        .map_err(bad)?;
                }
            }
            Table::Contacts => {
                let c = &f.contacts;
                for i in (0..c.gap.len()).filter(|i| c.bodies[*i].iter().any(|b| selection.has(*b))) {
                    let [a, b] = c.bodies[i].map(|id| quoted(&names.body(id)));
                    let numbers = c.point[i].into_iter().chain(c.normal[i]);
                    let numbers = numbers.chain(c.impulse[i].map(|p| p / h)).chain([c.gap[i], c.friction[i]]);
                    let [ma, mb] = c.materials[i].map(material);
                    writeln!(to, "{when},{a},{b},{},{ma},{mb}", join(numbers, double)).map_err(bad)?;
                }
            }
            Table::Joints => {
                let j = &f.joints;
                for i in 0..j.id.len() {
                    let numbers = j.force[i].into_iter().chain(j.torque[i]);
                    let numbers = numbers.chain(j.coordinates[i]).chain(j.motors[i]);
                    writeln!(to, "{when},{},{}", quoted(&names.joint(j.id[i])), join(numbers, double))
                        .map_err(bad)?;
                }
            }
            Table::Steps => {}
        }
    }
    Ok(())
}
