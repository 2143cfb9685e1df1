//! Numbers from Python and back: vectors of three, quaternions (w, x, y, z), functions of time.

use drystone::limits::{FARTHEST, ROUGHEST};
use drystone::{Function, Pose};
use drystone_solve::solver::nearest;
use glam::{DMat3, DQuat, DVec3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::body::Body;
use crate::errors::{argument, input};

/// Three numbers.
#[derive(Clone, Copy, Debug)]
pub struct V3(pub [f64; 3]);
/// w, x, y, z.
#[derive(Clone, Copy, Debug)]
pub struct Q4(pub [f64; 4]);
/// How many: none or more.
#[derive(Clone, Copy, Debug)]
pub struct Whole(pub u64);
/// A group, layers or a mask.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub u32);
/// How often: at least once.
#[derive(Clone, Copy, Debug)]
pub struct Times(pub u64);

/// Steps that can be asked for at a time: eleven days of steps of a microsecond.
pub const MOST_STEPS: u64 = 1_000_000_000_000;

// What arguments are read with (`from_py_with`): whatever is of another kind is an `ArgumentError`, to which
// PyO3 tells the name.

fn read<'a, 'py, T: FromPyObject<'a, 'py>>(value: &'a Bound<'py, PyAny>, wanted: &str) -> PyResult<T> {
    value.extract().map_err(|_| argument(format!("must be {wanted}, got {}", shown(value))))
}

fn maybe<'a, 'py, T: FromPyObject<'a, 'py>>(
    value: &'a Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { read(value, wanted).map(Some) }
}

/// Whether it is True or False, Python's own or NumPy's: they are no numbers.
pub fn is_truth(value: &Bound<'_, PyAny>) -> bool {
    let numpy = || value.get_type().name().is_ok_and(|name| name == "bool" || name == "bool_");
    value.is_instance_of::<PyBool>() || numpy()
}

pub fn number(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match is_truth(value) {
        true => Err(argument(format!("must be a number, got {}", shown(value)))),
        false => read(value, "a number"),
    }
}

pub fn maybe_number(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    match is_truth(value) {
        true => Err(argument(format!("must be a number or None, got {}", shown(value)))),
        false => maybe(value, "a number or None"),
    }
}

/// A coefficient of friction.
pub fn friction(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let mu = number(value)?;
    if !(mu.is_finite() && mu >= 0.0) {
        Err(input(format!("friction must be finite and not negative, got {mu}")))
    } else if mu > ROUGHEST {
        Err(input(format!("friction must be at most {ROUGHEST:e}, got {mu:e}")))
    } else {
        Ok(mu)
    }
}

/// The same, or None.
pub fn maybe_friction(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if value.is_none() { Ok(None) } else { friction(value).map(Some) }
}

/// A whole number that is not negative and at most `most`.
fn whole(value: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let found = (!is_truth(value)).then(|| value.extract::<u64>().ok()).flatten();
    found.filter(|n| *n <= most).ok_or_else(|| {
        let above = value.gt(most).unwrap_or(false) && value.hasattr("__index__").unwrap_or(false);
        let bound = if above && !is_truth(value) { format!(" and at most {most}") } else { String::new() };
        argument(format!("must be a whole number, not negative{bound}, got {}", shown(value)))
    })
}

pub fn count(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole(value, u64::from(u32::MAX)).map(|n| n as usize)
}

/// Two numbers.
pub fn two(value: &Bound<'_, PyAny>) -> PyResult<[f64; 2]> {
    numbers(value.as_borrowed(), "two numbers")
}

/// Two points.
pub fn maybe_points(value: &Bound<'_, PyAny>) -> PyResult<Option<[V3; 2]>> {
    let wrong = |_| argument(format!("must be two points of three numbers, got {}", shown(value)));
    if value.is_none() { Ok(None) } else { value.extract().map(Some).map_err(wrong) }
}

/// Three functions of time.
pub fn maybe_functions(value: &Bound<'_, PyAny>) -> PyResult<Option<[Function; 3]>> {
    if value.is_none() {
        return Ok(None);
    }
    let wrong = |_| argument(format!("must be three functions of time, got {}", shown(value)));
    let all: [Bound<'_, PyAny>; 3] = value.extract().map_err(wrong)?;
    let [x, y, z] = &all;
    Ok(Some([function(x)?, function(y)?, function(z)?]))
}

pub fn flag(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    read(value, "True or False")
}

pub fn text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    read(value, "a text")
}

pub fn maybe_text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    maybe(value, "a text or None")
}

pub fn name(value: &Bound<'_, PyAny>) -> PyResult<String> {
    read(value, "a text")
}

pub fn maybe_name(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    maybe(value, "a text or None")
}

/// An object of one of our own classes.
fn object<'a, 'py, T: PyTypeInfo>(value: &'a Bound<'py, PyAny>, wanted: &str) -> PyResult<&'a Bound<'py, T>> {
    value.cast().map_err(|_| argument(format!("must be {wanted}, got {}", shown(value))))
}

pub fn body<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Body>> {
    object(value, "a body")
}

pub fn maybe_body<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<Option<&'a Bound<'py, Body>>> {
    if value.is_none() { Ok(None) } else { object(value, "a body, or None for the world").map(Some) }
}

fn numbers<const N: usize>(value: Borrowed<'_, '_, PyAny>, wanted: &str) -> PyResult<[f64; N]> {
    let wrong = || argument(format!("must be {wanted}, got {}", shown(&value)));
    // An array has one type for all; a list may have a truth among its numbers.
    let parts = value.cast::<PyList>().map(|all| all.iter().any(|x| is_truth(&x))).unwrap_or(false)
        || value.cast::<PyTuple>().map(|all| all.iter().any(|x| is_truth(&x))).unwrap_or(false);
    if parts { Err(wrong()) } else { value.extract().map_err(|_| wrong()) }
}

/// A value as messages show it: not all of a long one.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something else".into(), |text| text.to_string());
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

impl<'py> FromPyObject<'_, 'py> for V3 {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        numbers(value, "three numbers").map(V3)
    }
}

impl<'py> FromPyObject<'_, 'py> for Q4 {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        numbers(value, "four numbers (w, x, y, z)").map(Q4)
    }
}

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        whole(&value, u64::MAX).map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for Bits {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = || argument(format!("must be 32 bits, from 0 to 0xffffffff, got {}", shown(&value)));
        if is_truth(&value) { Err(wrong()) } else { value.extract().map(Self).map_err(|_| wrong()) }
    }
}

impl<'py> FromPyObject<'_, 'py> for Times {
    type Error = PyErr;
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match whole(&value, u64::MAX) {
            Ok(n) if n > MOST_STEPS => {
                Err(input(format!("n must be a whole number, at least 1 and at most {MOST_STEPS}, got {n}")))
            }
            Ok(n) if n > 0 => Ok(Self(n)),
            // PyO3 tells the name of what is a `TypeError`.
            Err(_) => Err(argument(format!("must be a whole number, at least 1, got {}", shown(&value)))),
            Ok(_) => Err(input(format!("n must be a whole number, at least 1, got {}", shown(&value)))),
        }
    }
}

pub fn vec3(v: V3) -> DVec3 {
    DVec3::from_array(v.0)
}

/// Refuses a vector that is not finite.
pub fn finite(name: &str, v: V3) -> PyResult<DVec3> {
    let x = vec3(v);
    if x.is_finite() {
        Ok(x)
    } else {
        Err(input(format!("{name} must be three finite numbers, got {:?}", v.0)))
    }
}

/// Refuses a vector that is not finite or beyond what the engine carries.
pub fn near(name: &str, v: V3) -> PyResult<DVec3> {
    let x = finite(name, v)?;
    let largest = x.abs().max_element();
    match largest <= FARTHEST {
        true => Ok(x),
        false => Err(input(format!("{name} must be within {FARTHEST:e} m of the origin, got {largest:e}"))),
    }
}

/// Refuses a direction that is none.
pub fn direction(name: &str, v: V3) -> PyResult<DVec3> {
    let x = finite(name, v)?;
    if x == DVec3::ZERO { Err(input(format!("{name} must not be zero"))) } else { Ok(x) }
}

pub fn quat(Q4([w, x, y, z]): Q4) -> DQuat {
    DQuat::from_xyzw(x, y, z, w)
}

pub fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

/// A place and an orientation, each where it is given.
pub fn pose(position: Option<V3>, rotation: Option<Q4>) -> Pose {
    Pose::new(position.map_or(DVec3::ZERO, vec3), rotation.map_or(DQuat::IDENTITY, quat))
}

/// Refuses what is no rotation.
pub fn unit(q: DQuat) -> Result<DQuat, String> {
    let length = q.length();
    if length.is_finite() && (length - 1.0).abs() < 1e-3 {
        Ok(q.normalize())
    } else {
        Err(format!("rotation must be a unit quaternion, its length is {length}"))
    }
}

/// The same as [`pose`], of numbers that make sense.
pub fn place(position: Option<V3>, rotation: Option<Q4>) -> PyResult<Pose> {
    let position = position.map_or(Ok(DVec3::ZERO), |x| near("position", x))?;
    Ok(Pose::new(position, rotation.map_or(Ok(DQuat::IDENTITY), |q| unit(quat(q)).map_err(input))?))
}

/// Refuses a distance that is none.
pub fn reach(max_distance: f64) -> PyResult<f64> {
    if max_distance >= 0.0 {
        Ok(max_distance)
    } else {
        Err(input(format!("max_distance must not be negative, got {max_distance}")))
    }
}

pub fn array3(py: Python<'_>, v: DVec3) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_slice(py, &v.to_array())
}

pub fn array4(py: Python<'_>, q: DQuat) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_slice(py, &wxyz(q))
}

/// A (3, 3) array.
pub fn matrix3(py: Python<'_>, m: DMat3) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = m.transpose().to_cols_array().to_vec();
    rows.into_pyarray(py).reshape([3, 3])
}

/// A number, a dictionary of one of the kinds that scene files have (`{"sine": {...}}`), or nothing.
pub fn function(value: &Bound<'_, PyAny>) -> PyResult<Function> {
    if let (false, Ok(x)) = (is_truth(value), value.extract::<f64>()) {
        return Ok(Function::Constant(x));
    }
    let wrong = |e: &dyn std::fmt::Display| {
        input(format!(
            "a function of time is a number or one of {{'ramp': ...}}, {{'sine': ...}}, {{'table': ...}}: {e}"
        ))
    };
    const KINDS: [&str; 4] = ["constant", "ramp", "sine", "table"];
    if let Ok(kinds) = value.cast::<PyDict>() {
        let names: Vec<String> = kinds.keys().iter().filter_map(|name| name.extract().ok()).collect();
        match &names[..] {
            [name] if kinds.len() == 1 && KINDS.contains(&name.as_str()) => {}
            [name] if kinds.len() == 1 => {
                let near = nearest(name, &KINDS).map_or(String::new(), |n| format!(", did you mean '{n}'?"));
                return Err(wrong(&format!("there is no '{name}'{near}")));
            }
            _ => return Err(wrong(&format!("it has one key, got {}", shown(value)))),
        }
    }
    let text = value.py().import("json")?.call_method1("dumps", (value,));
    let text: String = text.map_err(|_| wrong(&format!("got {}", shown(value))))?.extract()?;
    let f: Function = serde_json::from_str(&text).map_err(|e| wrong(&in_words(&e, value)))?;
    f.check().map_err(input)?;
    Ok(f)
}

/// What is wrong with a function, without places in a text that nobody has written.
fn in_words(e: &serde_json::Error, value: &Bound<'_, PyAny>) -> String {
    if !value.is_instance_of::<PyDict>() {
        return format!("got {}", shown(value));
    }
    let text = e.to_string();
    let text = text.split(" at line ").next().unwrap_or_default().replace('`', "'");
    format!("{}, got {}", text.replace("missing field", "missing"), shown(value))
}
