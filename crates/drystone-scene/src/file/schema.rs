//! A JSON Schema of scene files, for editors that complete and check while one types. Its names are the
//! parser's own lists.

use drystone::field::Source;
use drystone::{Combine, Impact, Leaving};
use drystone_solve::solver;
use serde_json::{Map, Value, json};

use super::{
    body, control, copies, field, flow, function, joint, parameters, probe, record, rules, series, settings,
    shape, stop,
};
use crate::gallery;

/// What is said of a field: its name, the form of its value, and one line.
type Entry = (&'static str, &'static str, &'static str);

/// The schema (draft 2020-12).
pub fn schema() -> Value {
    let mut root = table(super::FIELDS, TOP, &[]);
    let all = root.as_object_mut();
    let names: Vec<&str> = gallery::ENTRIES.iter().map(|e| e.name).collect();
    if let Some(all) = all {
        all.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        all.insert("title".into(), "drystone scene file".into());
        all.insert("$defs".into(), definitions());
        if let Some(scene) = all["properties"].get_mut("scene") {
            scene["enum"] = json!(names);
        }
    }
    root
}

/// A table with these fields; what `about` says nothing of may be anything (a test finds it).
fn table(fields: &[&str], about: &[Entry], required: &[&str]) -> Value {
    let mut properties = Map::new();
    for name in fields {
        let entry = about.iter().find(|(known, _, _)| known == name);
        properties.insert((*name).into(), entry.map_or(json!(true), |(_, form, text)| property(form, text)));
    }
    let mut all = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        all["required"] = json!(required);
    }
    all
}

/// `[form]` is a list of it; `a|b` are words.
fn property(form: &str, text: &str) -> Value {
    let mut value = match form.strip_prefix('[').and_then(|f| f.strip_suffix(']')) {
        Some(item) => json!({ "type": "array", "items": { "$ref": format!("#/$defs/{item}") } }),
        None if form.contains('|') => json!({ "enum": form.split('|').collect::<Vec<_>>() }),
        None => json!({ "$ref": format!("#/$defs/{form}") }),
    };
    if !text.is_empty() {
        value["description"] = text.into();
    }
    value
}

/// What a table of a list may have beside its own fields.
const LOOP: &[Entry] = &[
    ("for", "loop", "loop variables: one copy of this table for each of their values"),
    ("if", "formula", "leaves this table out where it does not hold"),
];

fn listed(fields: &[&str], about: &[Entry], required: &[&str]) -> Value {
    table(&[fields, &["for", "if"]].concat(), &[about, LOOP].concat(), required)
}

fn definitions() -> Value {
    let number = json!({ "anyOf": [{ "type": "number" }, { "$ref": "#/$defs/formula" }] });
    let vector = |n: usize| json!({ "type": "array", "items": { "$ref": "#/$defs/number" }, "minItems": n, "maxItems": n });
    let mut all = json!({
        "formula": { "type": "string", "description": "= and a formula of parameters and loop variables" },
        "number": number,
        "whole": { "anyOf": [{ "type": "integer" }, { "$ref": "#/$defs/formula" }] },
        "boolean": { "type": "boolean" },
        "text": { "type": "string" },
        "pair": vector(2),
        "vector": vector(3),
        "numbers": { "type": "array", "items": { "$ref": "#/$defs/number" } },
        "times": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/numbers" }] },
        "texts": { "type": "array", "items": { "type": "string" } },
        "text_or_texts": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/texts" }] },
        "counts": { "type": "array", "items": { "$ref": "#/$defs/whole" }, "minItems": 2, "maxItems": 3 },
        "loop": {
            "type": "object",
            "additionalProperties": { "anyOf": [
                { "$ref": "#/$defs/whole" },
                { "type": "array" },
                { "type": "object", "properties": {
                    "from": { "$ref": "#/$defs/number" },
                    "to": { "$ref": "#/$defs/number" },
                    "step": { "$ref": "#/$defs/number" } } } ] },
        },
        "rotation": { "anyOf": [vector(4), table(
            &["axis", "angle_deg"],
            &[("axis", "vector", ""), ("angle_deg", "number", "degrees")],
            &["axis", "angle_deg"])] },
        "function": { "anyOf": [{ "$ref": "#/$defs/number" }, table(
            &["ramp", "sine", "table"],
            &[("ramp", "ramp", ""), ("sine", "sine", ""), ("table", "points", "")],
            &[])] },
        "ramp": table(&["from", "to", "start", "end"], &[("from", "number", ""), ("to", "number", ""),
            ("start", "number", "s"), ("end", "number", "s")], &["to", "end"]),
        "sine": table(&["mean", "amplitude", "frequency", "phase"], &[("mean", "number", ""),
            ("amplitude", "number", ""), ("frequency", "number", "Hz"), ("phase", "number", "rad")],
            &["amplitude", "frequency"]),
        "points": table(&[function::TABLE, series::FIELDS].concat(), POINTS, &[]),
        "column": { "type": ["string", "integer"] },
        "motor": table(joint::MOTOR, MOTOR, &[]),
        "settings": table(settings::FIELDS, SETTINGS, &[]),
        "materials": table(rules::MATERIALS, &[("combine", "text", "how two mu make one"),
            ("pair", "[row]", "laws of pairs"), ("other", "other", "laws of pairs without a row")], &[]),
        "other": table(rules::LAW, ROW, &[]),
        "row": listed(&[rules::PAIR, rules::LAW].concat(), ROW, &["between", "mu"]),
        "body": listed(body::FIELDS, BODY, &[]),
        "emitter": listed(flow::EMITTER, EMITTER, &["min", "max", "rate", "body"]),
        "sink": listed(flow::SINK, &[("min", "vector", "m"), ("max", "vector", "m"),
            ("rate", "number", "1/s, the lowest first; all that comes if not given"), ("start", "number", "s")], &[]),
        "field": listed(field::FIELDS, FIELD, &["type", "strength", "cutoff"]),
        "control": listed(control::FIELDS, CONTROL, &["name", "commands", "range"]),
        "stop": table(stop::FIELDS, &[("rest", "rest", "true, or { speed, time }: m/s, s"),
            ("when", "text", "a formula of the world: t, kinetic, NAME.z, ...")], &[]),
        "parameter": { "anyOf": [{ "type": ["number", "string", "boolean"] },
            table(parameters::FIELDS, PARAMETER, &["default"])] },
        "parameters": { "type": "object", "additionalProperties": { "$ref": "#/$defs/parameter" } },
        "shape_or_shapes": { "anyOf": [{ "$ref": "#/$defs/shape" },
            { "type": "array", "items": { "$ref": "#/$defs/shape" } }] },
        "shapes": { "type": "array", "items": { "$ref": "#/$defs/shape" } },
        "spacing": { "anyOf": [{ "$ref": "#/$defs/number" }, { "$ref": "#/$defs/numbers" }] },
    });
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), nested()) {
        all.extend(more);
    }
    let own: Vec<Value> = shape::KINDS
        .iter()
        .map(|(name, kind)| typed(name, &[&SHAPE_COMMON[..], kind.fields(), &["for", "if"]].concat(), SHAPE))
        .collect();
    all["shape"] = json!({ "type": "object", "required": ["type"], "oneOf": own });
    let own: Vec<Value> =
        copies::KINDS.iter().map(|(name, own)| typed(name, &[&["type"], *own].concat(), COPIES)).collect();
    all["copies"] = json!({ "type": "object", "required": ["type"], "oneOf": own });
    let own: Vec<Value> = joint::TYPES
        .iter()
        .map(|(name, own)| {
            typed(name, &[joint::COMMON, own, joint::LAW, &["coordinates", "for", "if"]].concat(), JOINT)
        })
        .collect();
    all["joint"] = json!({ "type": "object", "required": ["type"], "oneOf": own });
    let own: Vec<Value> = probe::KINDS
        .iter()
        .map(|(name, kind)| typed(name, &[probe::COMMON, kind.fields(), &["for", "if"]].concat(), PROBE))
        .collect();
    all["probe"] = json!({ "type": "object", "required": ["name", "type"], "oneOf": own });
    all["settings"]["properties"]["solver"]["examples"] =
        json!(solver::REGISTRY.iter().map(|s| s.name).collect::<Vec<_>>());
    all["materials"]["properties"]["combine"] = json!({ "enum": names(&Combine::NAMES) });
    for rows in ["row", "other"] {
        all[rows]["properties"]["impact"] = json!({ "enum": names(&Impact::NAMES) });
    }
    all["bounds"]["properties"]["leaving"] = json!({ "enum": names(&Leaving::NAMES) });
    all["field"]["properties"]["source"] = json!({ "enum": names(&Source::NAMES) });
    all
}

/// Forms of tables within tables, and of what is of more than one kind.
fn nested() -> Value {
    let vector = |n: usize| json!({ "type": "array", "items": { "$ref": "#/$defs/number" }, "minItems": n, "maxItems": n });
    json!({
        "value": { "type": ["number", "string", "boolean"] },
        "matrix": { "anyOf": [{ "$ref": "#/$defs/number" }, { "$ref": "#/$defs/numbers" },
            { "$ref": "#/$defs/rows" }] },
        "rows": { "type": "array", "items": { "$ref": "#/$defs/numbers" } },
        "sleep": { "type": ["boolean", "string"] },
        "every": { "anyOf": [{ "$ref": "#/$defs/whole" }, { "type": "string" }] },
        "recorded": { "enum": ["bodies", "contacts", "joints"] },
        "direction": { "enum": ["x", "y", "z"] },
        "how_many": { "anyOf": [{ "$ref": "#/$defs/whole" }, { "$ref": "#/$defs/counts" }] },
        "cell": { "anyOf": [{ "enum": ["sc", "bcc", "fcc", "hcp"] }, vector(3)] },
        "ball": table(&["at", "r"], &[("at", "vector", "m"), ("r", "number", "m")], &["at", "r"]),
        "guide": { "anyOf": [table(function::GUIDE, GUIDE, &[]),
            { "type": "array", "items": listed(function::GUIDE, GUIDE, &[]) }] },
        "elastic": table(joint::SPRING, &[("rest", "number", "m or rad"),
            ("stiffness", "number", "N/m or N m/rad"), ("damping", "number", "N s/m or N m s/rad")], &[]),
        "law": listed(joint::LAW, JOINT, &[]),
        "bounds": table(rules::BOUNDS, BOUNDS, &[]),
        "periodic": table(rules::PERIODIC, BOUNDS, rules::PERIODIC),
        "rest": { "anyOf": [{ "type": "boolean" }, table(stop::REST_FIELDS,
            &[("speed", "number", "of the fastest point, m/s"), ("time", "number", "s")], &[])] },
        "record": table(record::FIELDS, RECORD, &[]),
    })
}

fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}

/// A table whose `type` is this word.
fn typed(name: &str, fields: &[&str], about: &[Entry]) -> Value {
    let mut own = table(fields, &[about, LOOP].concat(), &["type"]);
    own["properties"]["type"] = json!({ "const": name });
    own
}

const TOP: &[Entry] = &[
    ("name", "text", "for reports; the file's own if not given"),
    ("title", "text", "one line"),
    ("citation", "text", "where it comes from"),
    ("scene", "text", "a scene of the gallery, instead of bodies of its own"),
    ("parameters", "parameters", "what --set, study and live sliders can change"),
    ("settings", "settings", "how it steps"),
    ("materials", "materials", "laws of contact"),
    ("body", "[body]", ""),
    ("joint", "[joint]", ""),
    ("emitter", "[emitter]", "where bodies come into the world"),
    ("sink", "[sink]", "where they leave it"),
    ("field", "[field]", "forces beside gravity"),
    ("control", "[control]", "what can be driven in a live run"),
    ("record", "record", "what --record records, where the command line does not say"),
    ("probe", "[probe]", "what is measured"),
    ("stop", "stop", "when the run ends before its time"),
    ("include", "text_or_texts", "files whose tables come before these"),
];

const SETTINGS: &[Entry] = &[
    ("h", "number", "step, s"),
    ("T", "number", "duration, s"),
    ("gravity", "vector", "m/s²"),
    ("model", "ccp|coulomb", "contact law"),
    ("solver", "text", "name, with parameters after a colon"),
    ("tolerance", "number", "largest residual to accept, m/s"),
    ("iterations", "whole", "cap for the velocity problem of an island"),
    ("budget_ms", "number", "cap on the time of a solve, ms"),
    ("compliance", "number", "of rows that ask for a motion, from 0 to 1"),
    ("substeps", "whole", "parts that a step is taken in"),
    ("max_substeps", "whole", "substeps that an island may take"),
    ("integrator", "text", "auto, euler, moreau:theta=0.5 or rattle:order=4"),
    ("stabilisation", "text", "none, moreau, scaled, clamped or post"),
    ("position_iterations", "whole", "cap for one position problem"),
    ("envelope", "number", "distance at which contacts exist before touching, m"),
    ("broadphase", "brute|sap|grid", ""),
    ("warm_start", "boolean", "start from the last step's multipliers"),
    ("bounds", "bounds", "{ min, max, leaving }: where bodies are meant to stay"),
    ("periodic", "periodic", "{ min, max, axes }: what leaves comes back on the other side"),
    ("sleep", "sleep", "true, or thresholds as text"),
    ("seed", "whole", "of the random generator"),
    ("snaps", "times", "times for snapshots, s, or text such as \"0.5s\": every so often"),
];

const SURFACE: &[Entry] = &[
    ("mu", "number", "coefficient of friction"),
    ("material", "text", "a name, for [materials]"),
    ("layers", "numbers", "from 0 to 31"),
    ("mask", "numbers", "layers that it collides with"),
    ("surface_velocity", "vector", "a belt: how the surface runs over the body, m/s"),
];

const BODY: &[Entry] = &[
    SURFACE[0],
    SURFACE[1],
    SURFACE[2],
    SURFACE[3],
    SURFACE[4],
    ("name", "text", "for messages and joints"),
    ("motion", "dynamic|kinematic|static", ""),
    ("shape", "shape_or_shapes", ""),
    ("planar", "vector", "the body moves only across this direction"),
    ("mass", "number", "kg"),
    ("density", "number", "kg/m³"),
    ("inertia", "matrix", "three principal moments or three rows, kg m²"),
    ("centre", "vector", "centre of mass in the body's frame, m"),
    ("position", "vector", "m"),
    ("rotation", "rotation", "[w, x, y, z], or axis and angle"),
    ("velocity", "vector", "m/s"),
    ("angular_velocity", "vector", "rad/s"),
    ("guide", "guide", "where a kinematic body is over time"),
    ("charge", "number", "C"),
    ("group", "whole", "bodies of one group other than 0 do not collide"),
    ("glass", "boolean", "pictures look through it"),
    ("count", "counts", "a grid of copies"),
    ("spacing", "vector", "of that grid, m"),
    ("copies", "copies", "copies by a rule"),
];

const SHAPE_COMMON: [&str; 9] =
    ["type", "position", "rotation", "sensor", "mu", "material", "layers", "mask", "surface_velocity"];

const SHAPE: &[Entry] = &[
    SURFACE[0],
    SURFACE[1],
    SURFACE[2],
    SURFACE[3],
    SURFACE[4],
    ("position", "vector", "in the body's frame, m"),
    ("rotation", "rotation", ""),
    ("sensor", "boolean", "reports and pushes nothing"),
    ("r", "number", "radius, m"),
    ("half", "vector", "half of each side, m"),
    ("rounding", "number", "radius of the ball that it is grown by, m"),
    ("half_length", "number", "m"),
    ("height", "number", "m"),
    ("points", "[vector]", "m"),
    ("file", "text", "a mesh (.obj, .stl) or heights (.txt, .csv, .png), relative to the scene file"),
    ("scale", "spacing", "one number, or one along each axis"),
    ("parts", "whole", "convex parts at most"),
    ("threshold", "number", "how concave a part may be"),
    ("heights", "rows", "rows of heights, m"),
    ("spacing", "spacing", "of heights, m"),
    ("shapes", "shapes", "convex parts"),
];

const COPIES: &[Entry] = &[
    ("count", "how_many", "how many"),
    ("spacing", "spacing", "distance, m"),
    ("min", "vector", "lower corner of the box, m"),
    ("max", "vector", "upper corner of the box, m"),
    ("gap", "number", "least distance, m"),
    ("turned", "boolean", "each turned at random"),
    ("sizes", "pair", "least and largest size, over the given one"),
    ("seed", "whole", "of the random numbers"),
    ("across", "numbers", "cells along x and y"),
    ("cell", "cell", "sizes of a cell, m, or the kind of crystal: sc, bcc, fcc, hcp"),
    ("jitter", "number", "largest shift from a cell's middle along each axis, m"),
    ("clear", "ball", "{ at, r }: a ball that stays free of middles"),
    ("size", "vector", "of the box, m"),
    ("ends", "halves|toothed", "of every second row"),
    ("points", "[vector]", "of the curve, m"),
    ("closed", "boolean", "back to the first point"),
    ("smooth", "boolean", "a curve and not straight lines"),
    ("aligned", "boolean", "x along the curve"),
    ("file", "text", "a .csv with columns x, y, z, ..."),
    ("scale", "number", "m for one unit of the file"),
];

const JOINT: &[Entry] = &[
    ("name", "text", ""),
    ("a", "text", "a body, or world"),
    ("b", "text", "a body, or world"),
    ("anchor", "vector", "m, world"),
    ("anchor_a", "vector", "m, world"),
    ("anchor_b", "vector", "m, world"),
    ("compliance", "pair", "m/N, rad/(N m)"),
    ("collide", "boolean", "lets the two bodies collide"),
    ("length_scale", "number", "m"),
    ("K", "number", "its own, with scaled stabilisation"),
    ("axis", "vector", ""),
    ("axis_b", "vector", ""),
    ("up", "vector", ""),
    ("length", "number", "m"),
    ("stiffness", "matrix", "N/m; of a bushing three numbers, or six rows of six"),
    ("damping", "matrix", "N s/m; the same"),
    ("angular_stiffness", "vector", ""),
    ("angular_damping", "vector", ""),
    ("pitch", "number", "m in a turn"),
    ("ratio", "number", ""),
    ("radius", "number", "m"),
    ("points", "[vector]", "m, world"),
    ("position", "[function]", "three functions of time"),
    ("rotation", "[function]", "three functions of time"),
    ("motor", "motor", ""),
    ("limits", "pair", "m or rad"),
    ("restitution", "number", "at the limits"),
    ("friction", "number", "N or N m"),
    ("spring", "elastic", "{ rest, stiffness, damping }"),
    ("coordinates", "[law]", "motor, limits, ... for each free coordinate"),
];

const MOTOR: &[Entry] = &[
    ("position", "function", "m or rad"),
    ("speed", "function", "m/s or rad/s"),
    ("force", "function", "N or N m"),
    ("limit", "number", "N or N m"),
];

const POINTS: &[Entry] = &[
    ("points", "[pair]", "time, s, and value"),
    ("interpolation", "linear|cubic", ""),
    ("beyond", "hold|repeat", "before the first and after the last"),
    ("file", "text", "a CSV file in place of points"),
    ("time", "column", "column of the times, s: its name, or its number from 1"),
    ("value", "column", "column of the values"),
    ("step", "number", "s, where the file has no times"),
    ("scale", "number", "of the values"),
    ("integrate", "whole", "2: the values are accelerations, 1: speeds"),
];

const ROW: &[Entry] = &[
    ("between", "texts", "two materials"),
    ("mu", "number", "coefficient of friction"),
    ("mu_kinetic", "number", "while sliding"),
    ("stick_speed", "number", "m/s"),
    ("restitution", "number", "from 0 to 1"),
    ("impact", "text", ""),
    ("bounce_speed", "number", "m/s"),
    ("rolling", "number", "m"),
    ("spinning", "number", "m"),
    ("cohesion", "number", "N"),
    ("stiffness", "number", "N/m"),
    ("damping", "number", "N s/m"),
    ("K", "number", "its own, with scaled stabilisation"),
];

const GUIDE: &[Entry] = &[
    ("along", "vector", "a direction"),
    ("way", "function", "how far along it, m"),
    ("about", "vector", "an axis through the body's origin"),
    ("angle", "function", "how far about it, rad"),
];

const BOUNDS: &[Entry] = &[
    ("min", "vector", "lower corner, m"),
    ("max", "vector", "upper corner, m"),
    ("leaving", "text", "what happens to bodies that leave"),
    ("axes", "[direction]", "along which it repeats"),
];

const RECORD: &[Entry] = &[
    ("folder", "text", "relative to the file; with it every run is recorded"),
    ("every", "every", "steps, or seconds as text such as \"0.02s\""),
    ("events", "boolean", "frames also where bodies come or go, or begin to push each other"),
    ("what", "[recorded]", "beside bodies"),
    ("precision", "f32|f64", ""),
    ("compression", "none|deflate", ""),
    ("checkpoint", "every", "steps, or wall time as text such as \"60s\""),
];

const PROBE: &[Entry] = &[
    ("name", "text", "without dots and commas: it heads columns"),
    ("every", "every", "steps, or seconds as text such as \"0.02s\""),
    ("start", "number", "s"),
    ("point", "vector", "of the plane, m"),
    ("normal", "vector", "of the plane"),
    ("radius", "number", "of the opening, m"),
    ("bodies", "text", "the name of those that count"),
    ("body", "text", "the name of one"),
    ("about", "vector", "point of the torque, m"),
    ("min", "vector", "lower corner, m"),
    ("max", "vector", "upper corner, m"),
    ("cells", "numbers", "columns along x and y"),
    ("along", "vector", "a line's direction"),
    ("centre", "vector", "a cone's axis"),
    ("emitter", "whole", "its number in the file, from 0"),
    ("sink", "whole", "its number in the file, from 0"),
];

const EMITTER: &[Entry] = &[
    ("min", "vector", "m"),
    ("max", "vector", "m"),
    ("rate", "number", "bodies a second"),
    ("start", "number", "s"),
    ("limit", "whole", "bodies in all"),
    ("turned", "boolean", "each turned at random"),
    ("body", "[body]", "what comes, one after the other"),
];

const FIELD: &[Entry] = &[
    ("type", "text", "pair"),
    ("source", "text", ""),
    ("strength", "number", ""),
    ("exponent", "number", ""),
    ("cutoff", "number", "m"),
    ("core", "number", "m"),
];

const CONTROL: &[Entry] = &[
    ("name", "text", ""),
    ("unit", "text", ""),
    ("joint", "text", "the name of one"),
    ("joints", "texts", "the names of several"),
    ("coordinate", "whole", "from 0"),
    ("commands", "speed|position|force|friction|gain", ""),
    ("scale", "spacing", "command over value: one, or one for each joint"),
    ("range", "pair", "least and greatest value"),
    ("start", "number", "value without input"),
    ("rate", "number", "units a second"),
    ("hold", "boolean", "a lever that stays"),
    ("keys", "texts", "for more, and for less"),
    ("gamepad", "text", "axis N, -axis N, button N, buttons MORE LESS"),
];

const PARAMETER: &[Entry] = &[
    ("default", "value", "a number, a word, or a formula of parameters before it"),
    ("unit", "text", ""),
    ("range", "pair", "least and most"),
    ("about", "text", "one line"),
    ("whole", "boolean", "whole numbers alone"),
    ("choices", "texts", "the words that it may be"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{self, Format, Node, Value as Item};

    /// Everything the schema says of a field is about one that the parser reads.
    #[test]
    fn nothing_is_described_that_is_not_read() {
        let shapes: Vec<&str> = shape::KINDS.iter().flat_map(|(_, k)| k.fields()).copied().collect();
        let joints: Vec<&str> = joint::TYPES.iter().flat_map(|(_, own)| *own).copied().collect();
        let made: Vec<&str> = copies::KINDS.iter().flat_map(|(_, own)| *own).copied().collect();
        let probes: Vec<&str> = probe::KINDS.iter().flat_map(|(_, k)| k.fields()).copied().collect();
        let lists: [(&[Entry], Vec<&str>); 18] = [
            (TOP, super::super::FIELDS.to_vec()),
            (SETTINGS, settings::FIELDS.to_vec()),
            (BODY, body::FIELDS.to_vec()),
            (SHAPE, [&SHAPE_COMMON[..], &shapes].concat()),
            (COPIES, made),
            (JOINT, [joint::COMMON, &joints, joint::LAW, &["coordinates"]].concat()),
            (MOTOR, joint::MOTOR.to_vec()),
            (POINTS, [function::TABLE, series::FIELDS].concat()),
            (ROW, [rules::PAIR, rules::LAW].concat()),
            (EMITTER, flow::EMITTER.to_vec()),
            (FIELD, field::FIELDS.to_vec()),
            (CONTROL, control::FIELDS.to_vec()),
            (PARAMETER, parameters::FIELDS.to_vec()),
            (SURFACE, shape::Surface::FIELDS.to_vec()),
            (GUIDE, function::GUIDE.to_vec()),
            (BOUNDS, [rules::BOUNDS, rules::PERIODIC].concat()),
            (RECORD, record::FIELDS.to_vec()),
            (PROBE, [probe::COMMON, &probes].concat()),
        ];
        for (about, fields) in &lists {
            for (name, _, _) in *about {
                assert!(fields.contains(name), "'{name}' is described and not read");
            }
            // And the other way round, but for `type`, which is another word in each table.
            for name in fields.iter().filter(|n| **n != "type") {
                let known = about.iter().any(|(k, _, _)| k == name);
                assert!(known, "'{name}' is read and not described");
            }
        }
    }

    /// Whether a file's value is of a form; the words of JSON Schema that are used here.
    fn is_of(node: &Node, form: &Value, defs: &Value) -> bool {
        let Value::Object(form) = form else { return *form == json!(true) };
        let fits = |f: &Value| is_of(node, f, defs);
        form.iter().all(|(word, said)| match (word.as_str(), &node.value) {
            ("$schema" | "$defs" | "title" | "description" | "examples", _) => true,
            ("$ref", _) => fits(&defs[said.as_str().unwrap().rsplit('/').next().unwrap()]),
            ("anyOf", _) => said.as_array().unwrap().iter().any(fits),
            ("oneOf", _) => said.as_array().unwrap().iter().filter(|f| fits(f)).count() == 1,
            ("type", value) => {
                let is = |t: &Value| match (t.as_str().unwrap(), value) {
                    ("integer", Item::Number(x)) => x.fract() == 0.0,
                    ("number", Item::Number(_))
                    | ("string", Item::Text(_))
                    | ("boolean", Item::Bool(_))
                    | ("array", Item::Array(_))
                    | ("object", Item::Table(_)) => true,
                    _ => false,
                };
                said.as_array().map_or_else(|| is(said), |all| all.iter().any(is))
            }
            ("enum", Item::Text(t)) => said.as_array().unwrap().iter().any(|word| word == t.as_ref()),
            ("const", Item::Text(t)) => said == t.as_ref(),
            ("items", Item::Array(list)) => list.iter().all(|n| is_of(n, said, defs)),
            ("minItems", Item::Array(list)) => list.len() as u64 >= said.as_u64().unwrap(),
            ("maxItems", Item::Array(list)) => list.len() as u64 <= said.as_u64().unwrap(),
            ("required", Item::Table(_)) => {
                said.as_array().unwrap().iter().all(|k| node.get(k.as_str().unwrap()).is_some())
            }
            ("properties", Item::Table(list)) => {
                list.iter().all(|e| said.get(e.key.as_ref()).is_none_or(|f| is_of(&e.node, f, defs)))
            }
            ("additionalProperties", Item::Table(list)) => list.iter().all(|e| {
                let known = form.get("properties").is_some_and(|p| p.get(e.key.as_ref()).is_some());
                known || *said != json!(false) && is_of(&e.node, said, defs)
            }),
            ("items" | "minItems" | "maxItems" | "required" | "properties" | "additionalProperties", _) => {
                true
            }
            ("enum" | "const", _) => false,
            _ => panic!("the schema says '{word}', which this test does not know"),
        })
    }

    fn fits(text: &str) -> bool {
        let source = text::Source::new(None, text.into(), Format::Toml);
        let all = schema();
        is_of(&source.parse().unwrap(), &all, &all["$defs"])
    }

    /// Editors say nothing against scenes that are right.
    #[test]
    fn examples_are_of_the_schema() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut read = 0;
        for folder in ["scenes", "gallery"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|e| e == "toml") {
                    assert!(fits(&std::fs::read_to_string(&path).unwrap()), "{}", path.display());
                    read += 1;
                }
            }
        }
        assert!(read > 30, "{read} files");
    }

    /// And something against slips, also inside of what is nested.
    #[test]
    fn slips_are_not_of_the_schema() {
        let body = "[[body]]\nmotion = \"kinematic\"\nguide = { along = [0, 0, 1], way = 1 }\n";
        let rest = "[stop]\nrest = { speed = 1 }\n[record]\nevery = \"0.1s\"\n[[probe]]\nname = \"e\"\ntype = \"energy\"\n\
                    [[joint]]\ntype = \"revolute\"\nspring = { stiffness = 1 }\n";
        let good =
            format!("[settings]\nT = 1\nbounds = {{ min = [0, 0, 0], leaving = \"stop\" }}\n{body}{rest}");
        assert!(fits(&good), "{good}");
        for (from, to) in [
            ("along", "alng"),
            ("way = 1", "way = { sin = 1 }"),
            ("speed = 1", "sped = 1"),
            ("every = \"0.1s\"", "evry = 1"),
            ("every = \"0.1s\"", "what = [\"forces\"]"),
            ("\"energy\"", "\"enrgy\""),
            ("type = \"energy\"", "type = \"energy\"\nbody = \"b\""),
            ("stiffness", "stifness"),
            ("\"stop\"", "\"halt\""),
            ("[[probe]]", "[[probes]]"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(bad != good && !fits(&bad), "{bad}");
        }
    }

    #[test]
    fn every_reference_is_there() {
        let all = schema();
        let text = all.to_string();
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(all["$defs"].get(name).is_some(), "{name}");
        }
        assert!(text.len() > 10_000);
    }
}
