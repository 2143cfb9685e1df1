//! One `[[control]]` of a scene file: a motor or brake of a joint, for the driver of a live run.

use drystone::JointDef;
use drystone::function::Function;
use drystone::joint::Command;
use drystone_solve::solver::nearest;

use crate::control::{Control, Quantity, Target};
use crate::text::{At, Fault, Value};

pub(super) const FIELDS: &[&str] = &[
    "name",
    "unit",
    "joint",
    "joints",
    "coordinate",
    "commands",
    "scale",
    "range",
    "start",
    "rate",
    "hold",
    "keys",
    "gamepad",
];

/// Reads a control of joints that are known by name.
pub(super) fn read(at: &At, joints: &[JointDef]) -> Result<Control, Fault> {
    at.only(FIELDS)?;
    let name = at.need("name")?.text()?;
    let unit = at.get("unit").map_or(Ok(""), |u| u.text())?;
    let quantity = at.need("commands")?.choice(&[
        ("speed", Quantity::Speed),
        ("position", Quantity::Position),
        ("force", Quantity::Force),
        ("friction", Quantity::Friction),
        ("gain", Quantity::Gain),
    ])?;
    let mut control = Control::new(name, unit, at.need("range")?.numbers()?);
    if let Some(start) = at.get("start") {
        control.start = start.number()?;
    }
    if let Some(rate) = at.get("rate") {
        control.rate = rate.number()?;
    }
    control.hold = at.get("hold").map_or(Ok(false), |h| h.boolean())?;
    if let Some(keys) = at.get("keys") {
        let texts: Vec<&str> = keys.items()?.map(|k| k.text()).collect::<Result<_, _>>()?;
        control.keys = match texts.as_slice() {
            [more] => [more.to_string(), String::new()],
            [more, less] => [more.to_string(), less.to_string()],
            _ => return Err(keys.fault("must be one key or two: for more, and for less")),
        };
    }
    if let Some(gamepad) = at.get("gamepad") {
        control.gamepad = gamepad.text()?.into();
    }
    control.check_fields().map_err(|(field, why)| at.get(field).unwrap_or(*at).fault(why))?;
    let coordinate = at.get("coordinate").map_or(Ok(0), |c| c.whole(0, 5))? as usize;
    let scale = scales(at)?;
    let mut one = |joint: &At, scale: f64| -> Result<(), Fault> {
        let number = find(joint, joints)?;
        let free = joints[number].kind.coordinates().len();
        if coordinate >= free {
            let why = format!("the joint has {free} free coordinates, there is no number {coordinate}");
            return Err(at.get("coordinate").unwrap_or(*joint).fault(why));
        }
        let swings = |c: &Command| matches!(c, Command::Position(Function::Sine { .. }));
        let motor = joints[number].laws.get(coordinate).and_then(|l| l.motor.as_ref());
        if quantity == Quantity::Gain && !motor.is_some_and(|m| swings(&m.command)) {
            return Err(joint.fault("commands = \"gain\" needs a position motor that is a sine"));
        }
        control.targets.push(Target { joint: number as u32, coordinate, quantity, scale });
        Ok(())
    };
    match (at.get("joint"), at.get("joints")) {
        (Some(joint), None) => one(&joint, scale.of(0))?,
        (None, Some(list)) => {
            unknown(&list, joints)?;
            list.items()?.enumerate().try_for_each(|(k, j)| one(&j, scale.of(k)))?;
        }
        _ => return Err(at.fault("needs 'joint' (a name) or 'joints' (several), not both")),
    }
    Ok(control)
}

/// Commands over values: one for all joints, or one for each.
enum Scale {
    All(f64),
    Each(Vec<f64>),
}

impl Scale {
    fn of(&self, k: usize) -> f64 {
        match self {
            Scale::All(x) => *x,
            Scale::Each(all) => all.get(k).copied().unwrap_or(1.0),
        }
    }
}

fn scales(at: &At) -> Result<Scale, Fault> {
    let Some(scale) = at.get("scale") else { return Ok(Scale::All(1.0)) };
    let Value::Array(list) = &scale.node.value else { return scale.number().map(Scale::All) };
    let joints = match at.get("joints").map(|j| &j.node.value) {
        Some(Value::Array(all)) => all.len(),
        _ => 1,
    };
    if list.len() != joints {
        return Err(scale.fault(format!(
            "must be a number for all joints or one for each of the {joints} of them, got {}",
            list.len()
        )));
    }
    scale.items()?.map(|x| x.number()).collect::<Result<_, _>>().map(Scale::Each)
}

/// All names of a list that no joint has, at once.
fn unknown(list: &At, joints: &[JointDef]) -> Result<(), Fault> {
    let mut faults = Vec::new();
    for item in list.items()? {
        if item.text().is_ok() {
            faults.extend(find(&item, joints).err());
        }
    }
    let others: Vec<String> = faults.iter().skip(1).map(|f| f.message.clone()).collect();
    match faults.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(Fault { message: [vec![first.message], others].concat().join("; "), ..first }),
    }
}

fn find(at: &At, joints: &[JointDef]) -> Result<usize, Fault> {
    let name = at.text()?;
    joints.iter().position(|j| j.name.as_deref() == Some(name)).ok_or_else(|| {
        let names: Vec<&str> = joints.iter().filter_map(|j| j.name.as_deref()).collect();
        let hint = nearest(name, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        at.fault(format!("there is no joint named '{name}'{hint}"))
    })
}
