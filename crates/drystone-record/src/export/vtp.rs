//! Surfaces of bodies as a series of VTK's XML files, with a `.pvd` that ParaView opens as one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use drystone::Motion;
use glam::DVec3;

use super::{Selection, base64, rows};
use crate::recording::{Catalogue, RecordError, Recording};
use crate::surface::{self, Surface};

fn floats(name: &str, columns: usize, values: impl Iterator<Item = f32>) -> String {
    let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
    array("Float32", name, columns, &bytes)
}

fn whole(name: &str, values: impl Iterator<Item = i64>) -> String {
    let bytes: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
    array("Int64", name, 1, &bytes)
}

fn array(kind: &str, name: &str, columns: usize, bytes: &[u8]) -> String {
    let data = base64(&[&(bytes.len() as u64).to_le_bytes(), bytes].concat());
    format!(
        "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{columns}\" format=\"binary\">{data}</DataArray>\n"
    )
}

/// Writes `NAME.pvd`, and `NAME_000000.vtp` and so on beside it: triangles of all shapes (static ones too)
/// with the number and the velocity of their bodies. Ends before the next file once `stop` is true, without a
/// `.pvd` then; how many files are written.
///
/// # Errors
/// For a recording that cannot be read, and files that cannot be written.
pub fn vtp(
    recording: &Recording,
    selection: &Selection,
    to: &Path,
    stop: &AtomicBool,
) -> Result<usize, RecordError> {
    let bad = |file: &Path, e: std::io::Error| RecordError::File { file: file.into(), text: e.to_string() };
    let stem = to.file_stem().map_or("frames".into(), |s| s.to_string_lossy().into_owned());
    let folder = to.parent().unwrap_or(Path::new(""));
    crate::file::make_folder(to).map_err(|e| bad(to, e))?;
    let catalogue = recording.catalogue();
    let shapes: Vec<Surface> = catalogue.shapes.iter().map(surface::of).collect();
    let mut list = String::new();
    for (n, k) in selection.frames.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(n);
        }
        let frame = recording.frame(*k)?;
        let rows = rows(&frame);
        let (mut all, mut ids, mut speeds) = (Surface::default(), Vec::new(), Vec::new());
        for c in catalogue.colliders.iter().filter(|c| selection.has(c.body)) {
            let Some((pose, velocity)) = place(catalogue, &frame, &rows, c.body) else { continue };
            all.append(&shapes[c.shape], &pose.compose(&c.local));
            ids.resize(all.triangles.len(), c.body);
            speeds.resize(all.triangles.len(), velocity);
        }
        let (points, cells) = (all.points.len(), all.triangles.len());
        let mut text = format!(
            "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<!-- drystone -->\n<PolyData>\n\
             <Piece NumberOfPoints=\"{points}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"{cells}\">\n<CellData>\n"
        );
        text += &whole("BodyId", ids.into_iter());
        text += &floats("Velocity", 3, speeds.into_iter().flat_map(|v| v.map(|x| x as f32)));
        text += "</CellData>\n<Points>\n";
        text += &floats("Points", 3, all.points.iter().flat_map(|x| x.to_array().map(|x| x as f32)));
        text += "</Points>\n<Polys>\n";
        text += &whole("connectivity", all.triangles.iter().flatten().map(|k| i64::from(*k)));
        text += &whole("offsets", (1..=cells as i64).map(|k| 3 * k));
        text += "</Polys>\n</Piece>\n</PolyData>\n</VTKFile>\n";
        let name = format!("{stem}_{n:06}.vtp");
        let file = folder.join(&name);
        crate::file::write(&file, text.as_bytes()).map_err(|e| bad(&file, e))?;
        list += &format!("<DataSet timestep=\"{}\" part=\"0\" file=\"{name}\"/>\n", frame.time);
    }
    let text = format!(
        "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<!-- drystone -->\n<Collection>\n{list}</Collection>\n</VTKFile>\n"
    );
    let file = folder.join(format!("{stem}.pvd"));
    crate::file::write(&file, text.as_bytes()).map_err(|e| bad(&file, e))?;
    Ok(selection.frames.len())
}

/// Where a body is in a frame and how fast, if it is there.
pub(super) fn place(
    catalogue: &Catalogue,
    frame: &crate::recording::Frame,
    rows: &std::collections::HashMap<i64, usize>,
    body: i64,
) -> Option<(drystone::Pose, [f64; 3])> {
    if let Some(row) = rows.get(&body) {
        return Some((frame.bodies.pose(*row), frame.bodies.velocity[*row]));
    }
    let info = catalogue.bodies.iter().find(|b| b.id == body && b.motion == Motion::Static)?;
    let gone = catalogue.gone.iter().any(|(id, step)| *id == body && *step <= frame.step);
    (info.step <= frame.step && !gone).then_some((info.pose, DVec3::ZERO.to_array()))
}
