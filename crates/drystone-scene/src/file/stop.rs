//! `[stop]`: when a run ends before its time.
//!
//! ```text
//!     rest = true                              nothing has moved faster than 1 mm/s for half a second
//!     rest = { speed = 1e-3, time = 0.5 }      m/s, s
//!     when = "ball.z < 0.1 and t > 1"          a formula of the world after a step holds
//! ```

use drystone::{BodyId, World};
use drystone_solve::solver::nearest;

use super::settings::positive;
use crate::expression::Expression;
use crate::measurement::Layer;
use crate::probe::Results;
use crate::text::{At, Fault, Value};
use crate::{Memory, Scene};

/// Speed, m/s, and time, s, of what has come to rest.
const REST: (f64, f64) = (1e-3, 0.5);
/// What a formula may ask of the whole world.
const WORLD: &[&str] =
    &["t", "step", "bodies", "contacts", "touching", "kinetic", "potential", "speed", "overlap"];
/// And of a body, after its name and a dot.
const BODY: &[&str] = &["x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz", "speed", "force", "turned"];

/// The fields of the table.
pub(super) const FIELDS: &[&str] = &["rest", "when"];

/// The fields of `rest`.
pub(super) const REST_FIELDS: &[&str] = &["speed", "time"];

/// Puts the conditions around what the scene measures.
pub(super) fn apply(at: &At, scene: &mut Scene) -> Result<(), Fault> {
    at.only(FIELDS)?;
    let mut stop = Stop { rest: None, when: None };
    if let Some(rest) = at.get("rest") {
        stop.rest = match rest.node.value {
            Value::Bool(asked) => asked.then_some(REST),
            _ => {
                rest.only(REST_FIELDS)?;
                let speed = rest.get("speed").map_or(Ok(REST.0), |x| positive(&x, "m/s"))?;
                Some((speed, rest.get("time").map_or(Ok(REST.1), |x| positive(&x, "s"))?))
            }
        };
    }
    if let Some(when) = at.get("when") {
        let text = when.text()?;
        let formula = Expression::parse(text).map_err(|w| {
            when.fault(format!("{} at character {}", w.message, text[..w.at].chars().count() + 1))
        })?;
        let mut names = Vec::new();
        for (_, name) in formula.names() {
            names.push((name.to_string(), quantity(name, scene).map_err(|e| when.fault(e))?));
        }
        stop.when = Some(When { text: text.into(), formula, names });
    }
    scene.probe.add(Stopping { stop, quiet_since: None, why: None });
    Ok(())
}

struct Stop {
    rest: Option<(f64, f64)>,
    when: Option<When>,
}

struct When {
    text: String,
    formula: Expression,
    names: Vec<(String, Quantity)>,
}

#[derive(Clone, Copy)]
enum Quantity {
    World(usize),
    Body(u32, usize),
}

fn quantity(name: &str, scene: &Scene) -> Result<Quantity, String> {
    if let Some(k) = WORLD.iter().position(|n| *n == name) {
        return Ok(Quantity::World(k));
    }
    let Some((body, what)) = name.rsplit_once('.') else {
        let hint = nearest(name, WORLD).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        return Err(format!(
            "there is no '{name}' to ask for{hint} (known: {}; of a body: NAME.{})",
            WORLD.join(", "),
            BODY.join(", NAME.")
        ));
    };
    let Some(slot) = scene.bodies.iter().position(|b| b.name.as_deref() == Some(body)) else {
        let names: Vec<&str> = scene.bodies.iter().filter_map(|b| b.name.as_deref()).collect();
        let hint = nearest(body, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        return Err(format!("there is no body named '{body}'{hint}"));
    };
    let k = BODY.iter().position(|n| *n == what).ok_or_else(|| {
        let hint = nearest(what, BODY).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
        format!("a body has no '{what}'{hint} (known: {})", BODY.join(", "))
    })?;
    Ok(Quantity::Body(slot as u32, k))
}

impl Quantity {
    fn of(self, world: &World) -> f64 {
        let s = world.state();
        match self {
            Quantity::World(k) => match WORLD[k] {
                "t" => s.time,
                "step" => s.step as f64,
                "bodies" => world.model().dynamic().count() as f64,
                "contacts" => world.contacts().len() as f64,
                "touching" => world.contacts().iter().filter(|c| c.normal_impulse() > 0.0).count() as f64,
                "kinetic" => world.energy().kinetic,
                "potential" => world.energy().potential,
                "speed" => fastest(world),
                _ => world.contacts().iter().map(|c| -c.gap).fold(0.0, f64::max),
            },
            Quantity::Body(slot, k) => {
                // A body that has left is nowhere: no comparison holds for what is not a number.
                if !world.model().contains(BodyId { slot, generation: 0 }) {
                    return f64::NAN;
                }
                let i = slot as usize;
                let (x, v, w) = (s.position[i], s.velocity[i], s.omega[i]);
                match BODY[k] {
                    "x" => x.x,
                    "y" => x.y,
                    "z" => x.z,
                    "vx" => v.x,
                    "vy" => v.y,
                    "vz" => v.z,
                    "wx" => w.x,
                    "wy" => w.y,
                    "wz" => w.z,
                    "speed" => v.length(),
                    "turned" => 2.0 * s.rotation[i].w.abs().min(1.0).acos().to_degrees(),
                    _ => {
                        let on = world.contacts().iter().filter(|c| c.bodies.contains(&slot));
                        on.map(|c| c.normal_impulse()).sum::<f64>() / world.settings().h
                    }
                }
            }
        }
    }
}

/// The largest speed of a point of any dynamic body, m/s.
fn fastest(world: &World) -> f64 {
    let (model, s) = (world.model(), world.state());
    let mut reach = vec![0.0f64; model.bodies.len()];
    for c in &model.colliders {
        let r = c.place().position.length() + c.shape.bounding_radius();
        // What a sink has taken leaves a shape of no body.
        if let Some(far) = reach.get_mut(c.body as usize).filter(|_| r.is_finite()) {
            *far = far.max(r);
        }
    }
    let speed = |i: usize| s.velocity[i].length() + s.omega[i].length() * reach[i];
    model.dynamic().map(speed).fold(0.0, f64::max)
}

/// Whether a run is to go on.
struct Stopping {
    stop: Stop,
    /// Since when nothing moves, s.
    quiet_since: Option<f64>,
    why: Option<String>,
}

impl Layer for Stopping {
    fn begin(&mut self, _: &World) {}
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }
    fn row(&mut self, _: &World) -> Vec<f64> {
        Vec::new()
    }
    fn observe(&mut self, world: &World) {
        let (t, h) = (world.state().time, world.settings().h);
        if let Some((speed, time)) = self.stop.rest {
            if fastest(world) > speed {
                self.quiet_since = None;
            } else {
                let since = *self.quiet_since.get_or_insert(t);
                // Times are sums of steps, and not exact.
                if t - since >= time - 1e-6 * h {
                    let text = format!("at rest: nothing faster than {speed} m/s for {time} s");
                    self.why.get_or_insert(text);
                }
            }
        }
        if let Some(when) = &self.stop.when {
            let value = |name: &str| when.names.iter().find(|(n, _)| n == name).map(|(_, q)| q.of(world));
            if when.formula.value(&value).is_ok_and(|x| x != 0.0 && !x.is_nan()) {
                self.why.get_or_insert(when.text.clone());
            }
        }
    }
    fn stop(&self) -> Option<String> {
        self.why.clone()
    }
    fn memory(&mut self, memory: &mut Memory) {
        memory.keep("quiet_since", &mut self.quiet_since);
        memory.keep("stopped", &mut self.why);
    }
    fn results(&mut self, world: &World, results: &mut Results) {
        if let Some(why) = &self.why {
            results.insert("stopped".into(), why.clone().into());
            results.insert("stopped_at_s".into(), crate::probe::number(world.state().time));
        }
    }
}
