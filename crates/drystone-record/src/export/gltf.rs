//! A recording as one glTF file with an animation: opens in browsers, Blender and most viewers.

use drystone::{Motion, Shape};
use serde_json::{Value, json};

use super::{Names, Selection, base64, rows};
use crate::recording::{RecordError, Recording};
use crate::surface;

/// Numbers of a file, and what is said about them.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Buffer {
    fn add(
        &mut self,
        bytes: Vec<u8>,
        component: u32,
        count: usize,
        kind: &str,
        bounds: Option<[Value; 2]>,
    ) -> usize {
        let mut accessor = json!({
            "bufferView": self.views.len(), "componentType": component, "count": count, "type": kind,
        });
        if let Some([min, max]) = bounds {
            (accessor["min"], accessor["max"]) = (min, max);
        }
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend(bytes);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats<const N: usize>(&mut self, rows: &[[f32; N]]) -> usize {
        let fold = |f: fn(f32, f32) -> f32, start: f32| {
            let mut all = [start; N];
            rows.iter().for_each(|r| (0..N).for_each(|k| all[k] = f(all[k], r[k])));
            json!(all.to_vec())
        };
        let bounds = [fold(f32::min, f32::INFINITY), fold(f32::max, f32::NEG_INFINITY)];
        let kind = ["", "SCALAR", "VEC2", "VEC3", "VEC4"][N];
        let bytes = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        self.add(bytes, 5126, rows.len(), kind, Some(bounds))
    }
}

fn single<const N: usize>(x: [f64; N]) -> [f32; N] {
    x.map(|x| x as f32)
}

/// The text of the file: bodies with their shapes, named, and their motion over the selected frames. Bodies
/// that are not there in a frame have no size in it.
///
/// # Errors
/// For a recording that cannot be read.
pub fn gltf(recording: &Recording, selection: &Selection) -> Result<String, RecordError> {
    let (catalogue, names) = (recording.catalogue(), Names::of(recording.catalogue()));
    let bodies: Vec<_> = catalogue.bodies.iter().filter(|b| selection.has(b.id)).collect();
    let mut data = Buffer::default();
    let mut meshes = Vec::new();
    for shape in &catalogue.shapes {
        let s = surface::of(shape);
        let points: Vec<[f32; 3]> = s.points.iter().map(|x| single(x.to_array())).collect();
        let place = data.floats(&points);
        let corners = s.triangles.iter().flatten().flat_map(|k| k.to_le_bytes()).collect();
        let indices = data.add(corners, 5125, 3 * s.triangles.len(), "SCALAR", None);
        let material = usize::from(matches!(shape, Shape::HalfSpace | Shape::HeightField(_)));
        let primitive = json!({"attributes": {"POSITION": place}, "indices": indices, "material": material});
        meshes.push(json!({"name": shape.name(), "primitives": [primitive]}));
    }
    // The first node turns z up into y up.
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let mut nodes = vec![json!({"name": recording.scene(), "rotation": [-half, 0.0, 0.0, half]})];
    let mut children = Vec::new();
    let mut place_of = std::collections::HashMap::new();
    for b in &bodies {
        children.push(nodes.len());
        place_of.insert(b.id, nodes.len());
        let (x, q) = (b.pose.position.to_array(), b.pose.rotation.to_array());
        nodes.push(json!({"name": names.body(b.id), "translation": x, "rotation": q}));
    }
    nodes[0]["children"] = json!(children);
    for c in &catalogue.colliders {
        let Some(body) = place_of.get(&c.body) else { continue };
        let (x, q) = (c.local.position.to_array(), c.local.rotation.to_array());
        let node = json!({"mesh": c.shape, "translation": x, "rotation": q});
        let number = nodes.len();
        nodes.push(node);
        match nodes[*body].get_mut("children").and_then(Value::as_array_mut) {
            Some(list) => list.push(json!(number)),
            None => nodes[*body]["children"] = json!([number]),
        }
    }
    let start = recording.moments()[selection.frames[0]].time;
    let mut times = Vec::new();
    let moving: Vec<_> = bodies.iter().filter(|b| b.motion != Motion::Static).collect();
    let mut tracks = vec![(Vec::new(), Vec::<[f32; 4]>::new(), Vec::new()); moving.len()];
    for k in &selection.frames {
        let frame = recording.frame(*k)?;
        times.push([(frame.time - start) as f32]);
        let rows = rows(&frame);
        for (b, (places, turns, sizes)) in moving.iter().zip(&mut tracks) {
            let row = rows.get(&b.id);
            let pose = row.map_or(b.pose, |row| frame.bodies.pose(*row));
            // q and -q are one rotation: the nearer one is the way to go on.
            let mut q = single(pose.rotation.to_array());
            let back = turns.last().map_or(0.0, |p: &[f32; 4]| (0..4).map(|k| p[k] * q[k]).sum::<f32>());
            if back < 0.0 {
                q = q.map(|x| -x);
            }
            places.push(single(pose.position.to_array()));
            turns.push(q);
            sizes.push([if row.is_some() { 1.0f32 } else { 0.0 }; 3]);
        }
    }
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    let input = data.floats(&times);
    for (b, (places, turns, sizes)) in moving.iter().zip(&tracks) {
        let mut outputs =
            vec![("translation", data.floats(places), "LINEAR"), ("rotation", data.floats(turns), "LINEAR")];
        if sizes.iter().any(|s| s[0] == 0.0) {
            outputs.push(("scale", data.floats(sizes), "STEP"));
        }
        for (path, output, interpolation) in outputs {
            channels.push(json!({
                "sampler": samplers.len(), "target": {"node": place_of[&b.id], "path": path},
            }));
            samplers.push(json!({"input": input, "output": output, "interpolation": interpolation}));
        }
    }
    let material = |name: &str, colour: [f64; 4]| {
        json!({"name": name, "doubleSided": true, "pbrMetallicRoughness":
            {"baseColorFactor": colour, "metallicFactor": 0.0, "roughnessFactor": 0.8}})
    };
    let uri = format!("data:application/octet-stream;base64,{}", base64(&data.bytes));
    let mut file = json!({
        "asset": {"version": "2.0", "generator": concat!("drystone ", env!("CARGO_PKG_VERSION"))},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes,
        "materials": [material("body", [0.72, 0.68, 0.6, 1.0]), material("ground", [0.5, 0.52, 0.5, 1.0])],
        "buffers": [{"byteLength": data.bytes.len(), "uri": uri}],
        "bufferViews": data.views,
        "accessors": data.accessors,
    });
    if !meshes.is_empty() {
        file["meshes"] = json!(meshes);
    }
    if !channels.is_empty() {
        file["animations"] = json!([{"name": "run", "samplers": samplers, "channels": channels}]);
    }
    Ok(file.to_string())
}
