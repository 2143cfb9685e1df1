//! Bodies of a world, what they are made of, and what they are to each other.

use drystone::{
    BodyDef, BodyId, Collider, Filter, Guide, MassProperties, MaterialId, Motion, PairLaw, World,
};
use drystone_solve::solver::nearest;
use glam::{DMat3, DVec3};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use super::PyWorld;
use super::joints::several;
use crate::arrays;
use crate::body::Body;
use crate::collider::PyCollider;
use crate::convert::{
    Bits, Q4, V3, body, direction, flag, function, is_truth, maybe_name, maybe_number, maybe_text, number,
    quat, shown, text, vec3,
};
use crate::errors::{argument, input, warn, world as refused};
use crate::shape::PyShape;

pub fn motion(name: &str) -> PyResult<Motion> {
    match name {
        "dynamic" => Ok(Motion::Dynamic),
        "kinematic" => Ok(Motion::Kinematic),
        "static" => Ok(Motion::Static),
        _ => Err(input(format!("motion must be 'dynamic', 'kinematic' or 'static', got '{name}'"))),
    }
}

pub fn motion_name(m: Motion) -> &'static str {
    match m {
        Motion::Dynamic => "dynamic",
        Motion::Kinematic => "kinematic",
        Motion::Static => "static",
    }
}

/// Mass, centre of mass and inertia from what was said: moments (3), a tensor (3, 3), or those of the shapes.
pub fn mass_properties(
    shapes: &[Collider],
    mass: Option<f64>,
    density: Option<f64>,
    centre: Option<V3>,
    inertia: Option<&Bound<'_, PyAny>>,
) -> PyResult<MassProperties> {
    let solid: Vec<&Collider> = shapes.iter().filter(|c| !c.sensor).collect();
    let volume: f64 = solid.iter().map(|c| c.shape.volume()).sum();
    let mass = match (mass, density) {
        (Some(_), Some(_)) => return Err(input("mass and density: give one of the two")),
        (Some(mass), None) => mass,
        (None, Some(density)) if !(density.is_finite() && density > 0.0) => {
            return Err(input(format!("density must be positive and finite, got {density}")));
        }
        (None, Some(density)) => density * volume,
        (None, None) => 1.0,
    };
    let mut properties = MassProperties::principal(mass, DVec3::ONE);
    if let Some(inertia) = inertia {
        properties.inertia = match inertia.extract::<V3>() {
            Ok(moments) => DMat3::from_diagonal(vec3(moments)),
            Err(_) => {
                let rows: [V3; 3] = inertia.extract().map_err(|_| {
                    argument("inertia must be three principal moments or a (3, 3) tensor, kg m²")
                })?;
                DMat3::from_cols_array_2d(&rows.map(|r| r.0)).transpose()
            }
        };
        properties.centre = centre.map_or(DVec3::ZERO, vec3);
        return Ok(properties);
    }
    if solid.is_empty() {
        return Err(input(
            "inertia: a body without solid shapes needs one (three moments or a (3, 3) tensor, kg m²)",
        ));
    }
    // Each with its share of the mass, about the common centre.
    let parts: Vec<(f64, DVec3, DMat3)> = solid
        .iter()
        .map(|c| {
            let share = if solid.len() == 1 { mass } else { mass * c.shape.volume() / volume };
            let turn = DMat3::from_quat(c.local.rotation);
            (share, c.local.point(c.shape.centroid()), turn * c.shape.inertia(share) * turn.transpose())
        })
        .collect();
    let middle: DVec3 = parts.iter().map(|(m, x, _)| *m * *x).sum::<DVec3>() / mass;
    let centre = centre.map_or(middle, vec3);
    properties.centre = centre;
    properties.inertia = parts.iter().fold(DMat3::ZERO, |sum, (m, x, i)| {
        let r = *x - centre;
        let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
        sum + *i + (DMat3::IDENTITY * r.length_squared() - outer) * *m
    });
    Ok(properties)
}

/// The number of a material. One that no pair names, while another that is called nearly so is in one, is
/// warned of: its own friction would count, and nobody would say so.
pub fn material(world: &PyWorld, py: Python<'_>, name: &str) -> PyResult<MaterialId> {
    let hint = world.with(py, |w| {
        let all = w.materials();
        if all.find(name).is_some() {
            return None;
        }
        let named = |id: MaterialId| all.names()[id.0 as usize].as_str();
        let paired: Vec<&str> = all.pairs().iter().flat_map(|((a, b), _)| [named(*a), named(*b)]).collect();
        nearest(name, &paired).map(String::from)
    });
    if let Some(hint) = hint {
        warn_of(py, name, &hint)?;
    }
    world.change(py, |w| w.materials_mut().add(name)).map_err(input)
}

fn warn_of(py: Python<'_>, material: &str, hint: &str) -> PyResult<()> {
    warn(py, &format!("material '{material}' is in no pair of set_pair; did you mean '{hint}'?"))
}

/// Materials of colliders that no pair names, and will not with this one, either, but are called nearly so
/// as one of its two; with its name.
fn nearly_named(w: &World, pair: [&str; 2]) -> Vec<(String, String)> {
    let all = w.materials();
    let used = |id: MaterialId| w.model().colliders.iter().any(|c| c.material == Some(id));
    let paired = |id: MaterialId| all.pairs().iter().any(|((a, b), _)| [a, b].contains(&&id));
    let lonely = all.names().iter().filter(|name| {
        !pair.contains(&name.as_str()) && all.find(name).is_some_and(|id| used(id) && !paired(id))
    });
    lonely.filter_map(|name| Some((name.clone(), nearest(name, &pair)?.into()))).collect()
}

/// A direction or an axis, and a function of time.
fn course<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<(V3, Bound<'py, PyAny>)>> {
    if value.is_none() {
        return Ok(None);
    }
    let wrong = |_| argument(format!("must be three numbers and a function of time, got {}", shown(value)));
    value.extract().map(Some).map_err(wrong)
}

/// A direction of length 1.
fn towards(name: &str, v: V3) -> PyResult<DVec3> {
    let x = direction(name, v)?;
    Ok((x / x.abs().max_element()).normalize())
}

/// What is to be a body's: a list of colliders.
fn colliders<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<PyRef<'py, PyCollider>>>> {
    if value.is_none() {
        return Ok(None);
    }
    let wrong = |_| argument(format!("must be a list of colliders (ds.Collider), got {}", shown(value)));
    value.extract().map(Some).map_err(wrong)
}

#[pymethods]
impl PyWorld {
    /// Adds a body of a shape, of `colliders`, or of both together.
    ///
    /// `mass` (kg; 1 if nothing is said) or `density` (kg/m³); inertia and centre of mass are those of a
    /// homogeneous body unless given; they count while the body is dynamic. `position` (m) and `rotation`
    /// (w, x, y, z) are of the body's frame, `velocity` (m/s) of its centre of mass, `angular_velocity`
    /// (rad/s) in world axes; a static body has none. `friction` (0 if nothing is said), `material`,
    /// `layers` and `mask` are those of `shape`, and of each of the colliders that names none of its own;
    /// `surface_velocity` (m/s) is that of all. Bodies of one `group` other than 0 do not collide; `planar`
    /// is the normal of a plane that it is locked to. `charge` (C) is what the pair forces of a scene file
    /// are proportional to: it counts in worlds of scenes that have some.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> brick = world.add_body(ds.box([0.1, 0.05, 0.04]), density=2000, position=[0, 0, 1])
    /// >>> round(brick.mass, 3)
    /// 3.2
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (shape=None, *, colliders=None, mass=None, density=None, inertia=None, centre=None,
        position=V3([0.0; 3]), rotation=Q4([1.0, 0.0, 0.0, 0.0]), velocity=V3([0.0; 3]), angular_velocity=V3([0.0; 3]),
        friction=0.0, material=None, motion="dynamic", group=Bits(0), layers=Bits(1), mask=Bits(u32::MAX), planar=None, name=None,
        surface_velocity=None, charge=0.0))]
    fn add_body(
        slf: &Bound<'_, Self>,
        shape: Option<PyShape>,
        #[pyo3(from_py_with = colliders)] colliders: Option<Vec<PyRef<'_, PyCollider>>>,
        #[pyo3(from_py_with = maybe_number)] mass: Option<f64>,
        #[pyo3(from_py_with = maybe_number)] density: Option<f64>,
        inertia: Option<&Bound<'_, PyAny>>,
        centre: Option<V3>,
        position: V3,
        rotation: Q4,
        velocity: V3,
        angular_velocity: V3,
        #[pyo3(from_py_with = crate::convert::friction)] friction: f64,
        #[pyo3(from_py_with = maybe_text)] material: Option<&str>,
        #[pyo3(from_py_with = text)] motion: &str,
        group: Bits,
        layers: Bits,
        mask: Bits,
        planar: Option<V3>,
        #[pyo3(from_py_with = maybe_name)] name: Option<String>,
        surface_velocity: Option<V3>,
        #[pyo3(from_py_with = number)] charge: f64,
    ) -> PyResult<Body> {
        let (py, this) = (slf.py(), slf.get());
        let (Bits(group), Bits(layers), Bits(mask)) = (group, layers, mask);
        let motion = self::motion(motion)?;
        let mut all: Vec<Collider> = Vec::new();
        let own = material.map(|m| self::material(this, py, m)).transpose()?;
        if let Some(shape) = shape {
            let filter = Filter { layers, mask };
            all.push(Collider { material: own, filter, ..Collider::new(shape.0, friction) });
        }
        for c in colliders.unwrap_or_default() {
            let named = &c.named;
            let material = named.material.as_ref().map(|m| self::material(this, py, m)).transpose()?;
            all.push(Collider {
                mu: named.friction.unwrap_or(friction),
                material: material.or(own),
                filter: Filter { layers: named.layers.unwrap_or(layers), mask: named.mask.unwrap_or(mask) },
                ..c.collider.clone()
            });
        }
        if let Some(v) = surface_velocity {
            all.iter_mut().for_each(|c| c.surface_velocity = vec3(v));
        }
        for c in &all {
            c.check(motion).map_err(input)?;
        }
        if let Some(m) = mass.filter(|m| !(m.is_finite() && *m > 0.0)) {
            return Err(input(format!("mass must be positive and finite, got {m}")));
        }
        let properties = match motion {
            Motion::Dynamic => mass_properties(&all, mass, density, centre, inertia)?,
            // Ground has none to speak of; what can be kept counts once the body is dynamic.
            _ => mass_properties(&all, mass, density, centre, inertia)
                .ok()
                .filter(|m| m.check().is_ok())
                .unwrap_or(MassProperties::principal(1.0, DVec3::ONE)),
        };
        let def = BodyDef {
            name,
            motion,
            mass: properties,
            position: vec3(position),
            rotation: quat(rotation),
            velocity: vec3(velocity),
            angular_velocity: vec3(angular_velocity),
            colliders: all,
            group,
            planar: planar.map(vec3),
            charge,
            ..BodyDef::bare(properties)
        };
        let id = this.change(py, |w| w.add_body(def)).map_err(refused)?;
        Ok(Self::body(slf, id))
    }

    /// Adds a body of one shape at each of these positions (n, 3), m; returns their rows in the arrays.
    #[pyo3(signature = (shape, positions, *, mass=None, density=None, rotations=None, velocities=None, friction=0.0,
        motion="dynamic", group=Bits(0)))]
    fn add_bodies<'py>(
        &self,
        py: Python<'py>,
        shape: PyShape,
        positions: arrays::In<'py>,
        #[pyo3(from_py_with = maybe_number)] mass: Option<f64>,
        #[pyo3(from_py_with = maybe_number)] density: Option<f64>,
        rotations: Option<arrays::In<'py>>,
        velocities: Option<arrays::In<'py>>,
        #[pyo3(from_py_with = crate::convert::friction)] friction: f64,
        #[pyo3(from_py_with = text)] motion: &str,
        group: Bits,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let Bits(group) = group;
        let motion = self::motion(motion)?;
        let collider = Collider::new(shape.0, friction);
        collider.check(motion).map_err(input)?;
        let own = [collider];
        let properties = match motion {
            Motion::Dynamic => mass_properties(&own, mass, density, None, None)?,
            _ => MassProperties::principal(1.0, DVec3::ONE),
        };
        let x = arrays::rows3("positions", &positions, None)?;
        let q = rotations.as_ref().map(|q| arrays::rows4("rotations", q, Some(x.len()))).transpose()?;
        let v = velocities.as_ref().map(|v| arrays::rows3("velocities", v, Some(x.len()))).transpose()?;
        let place = |def: &mut BodyDef, k: usize| {
            def.position = x[k];
            def.rotation = q.as_ref().map_or(def.rotation, |q| q[k]);
            def.velocity = v.as_ref().map_or(def.velocity, |v| v[k]);
        };
        let [collider] = own;
        let mut def = BodyDef { motion, group, ..BodyDef::bare(properties) };
        def.colliders.push(collider);
        // All rows are looked at before the first is added.
        for k in 0..x.len() {
            place(&mut def, k);
            def.check().map_err(|e| input(format!("row {k}: {e}")))?;
        }
        let slots = self.change(py, |w| {
            w.reserve(x.len());
            let add = |k: usize| {
                let mut def = def.clone();
                place(&mut def, k);
                w.add_body(def).map(|id| id.slot).map_err(|e| input(format!("row {k}: {e}")))
            };
            (0..x.len()).map(add).collect::<PyResult<Vec<_>>>()
        })?;
        Ok(PyArray1::from_vec(py, slots))
    }

    /// All bodies, in the order of their rows.
    #[getter]
    fn bodies<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids: Vec<BodyId> =
            slf.get().with(slf.py(), |w| w.model().slots().filter_map(|i| w.model().id(i as u32)).collect());
        PyList::new(slf.py(), ids.into_iter().map(|id| Self::body(slf, id)))
    }

    /// How many bodies there are.
    #[getter]
    fn body_count(&self, py: Python<'_>) -> usize {
        self.with(py, |w| w.model().bodies.len() - w.model().empty_slots().len())
    }

    /// How many bodies there are.
    fn __len__(&self, py: Python<'_>) -> usize {
        self.body_count(py)
    }

    /// A world is true, also one without bodies.
    fn __bool__(&self) -> bool {
        true
    }

    /// The bodies that there are now, in the order of their rows.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        Self::bodies(slf)?.as_any().try_iter()
    }

    /// Whether a body is this world's and alive, or whether there is one of that name or row.
    fn __contains__(slf: &Bound<'_, Self>, which: &Bound<'_, PyAny>) -> bool {
        match which.cast::<Body>() {
            Ok(body) => {
                let body = body.get();
                body.world.is(slf) && slf.get().with(slf.py(), |w| w.model().contains(body.id))
            }
            Err(_) => match which.extract::<String>() {
                Ok(name) => slf.get().with(slf.py(), |w| {
                    w.model().bodies.iter().any(|b| b.alive && b.name.as_deref() == Some(&name))
                }),
                Err(_) => Self::__getitem__(slf, which).is_ok(),
            },
        }
    }

    fn __getitem__(slf: &Bound<'_, Self>, which: &Bound<'_, PyAny>) -> PyResult<Body> {
        let py = slf.py();
        let found = if let Ok(name) = which.extract::<String>() {
            let named = |w: &World| {
                let all = w.model().bodies.iter().enumerate();
                let all = all.filter(|(_, b)| b.alive && b.name.as_deref() == Some(&name));
                all.filter_map(|(at, _)| w.model().id(at as u32)).collect::<Vec<_>>()
            };
            match slf.get().with(py, named)[..] {
                [id] => Some(id),
                [] => None,
                ref all => return Err(several(all.len(), "bodies", &name)),
            }
        } else {
            let row = (!is_truth(which)).then(|| which.extract::<i64>().ok()).flatten();
            let wrong = || argument(format!("a body goes by its row or its name, got {}", shown(which)));
            let row = row.ok_or_else(wrong)?;
            u32::try_from(row).ok().and_then(|row| slf.get().with(py, |w| w.model().id(row)))
        };
        match found {
            Some(id) => Ok(Self::body(slf, id)),
            None => {
                let rows = slf.get().with(py, |w| w.model().bodies.len());
                let hint = match which.lt(0) {
                    Ok(true) => format!(": rows are counted from 0, and there are {rows}"),
                    _ => String::new(),
                };
                Err(pyo3::exceptions::PyKeyError::new_err(format!("there is no body {which}{hint}")))
            }
        }
    }

    /// Takes a body out, with its joints.
    fn remove(slf: &Bound<'_, Self>, #[pyo3(from_py_with = body)] body: &Bound<'_, Body>) -> PyResult<()> {
        let id = Self::own(slf, body)?;
        slf.get().change(slf.py(), |w| w.remove_body(id)).map_err(refused)
    }

    /// Lets two bodies collide, or keeps them from it.
    #[pyo3(signature = (a, b, collide))]
    fn set_collides(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = body)] a: &Bound<'_, Body>,
        #[pyo3(from_py_with = body)] b: &Bound<'_, Body>,
        #[pyo3(from_py_with = flag)] collide: bool,
    ) -> PyResult<()> {
        let (a, b) = (Self::own(slf, a)?, Self::own(slf, b)?);
        slf.get().change(slf.py(), |w| w.set_collides(a, b, collide)).map_err(refused)
    }

    /// Lets a kinematic body follow functions of time: `along` is (direction, way in m), `about` is (axis,
    /// angle in rad), both from where the body was added. Directions and axes are in world axes and of any
    /// length but zero. Without any the body goes on by its own velocity.
    #[pyo3(signature = (body, *, along=None, about=None))]
    fn set_guide(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = body)] body: &Bound<'_, Body>,
        #[pyo3(from_py_with = course)] along: Option<(V3, Bound<'_, PyAny>)>,
        #[pyo3(from_py_with = course)] about: Option<(V3, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let mut guide = Guide::default();
        if let Some((direction, f)) = &along {
            guide.along.push((towards("along", *direction)?, function(f)?));
        }
        if let Some((axis, f)) = &about {
            guide.about = Some((towards("about", *axis)?, function(f)?));
        }
        let guide = (along.is_some() || about.is_some()).then_some(guide);
        let id = Self::own(slf, body)?;
        slf.get().change(slf.py(), |w| w.set_guide(id, guide)).map_err(refused)
    }

    /// Says what happens between two materials: friction, restitution, rolling and spinning resistance (arms,
    /// m), cohesion (N), stiffness (N/m) and damping (N s/m).
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (a, b, *, friction, kinetic_friction=None, restitution=0.0, rolling=0.0, spinning=0.0, cohesion=0.0,
        stiffness=None, damping=0.0))]
    fn set_pair(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text)] a: &str,
        #[pyo3(from_py_with = text)] b: &str,
        #[pyo3(from_py_with = crate::convert::friction)] friction: f64,
        #[pyo3(from_py_with = maybe_number)] kinetic_friction: Option<f64>,
        #[pyo3(from_py_with = number)] restitution: f64,
        #[pyo3(from_py_with = number)] rolling: f64,
        #[pyo3(from_py_with = number)] spinning: f64,
        #[pyo3(from_py_with = number)] cohesion: f64,
        #[pyo3(from_py_with = maybe_number)] stiffness: Option<f64>,
        #[pyo3(from_py_with = number)] damping: f64,
    ) -> PyResult<()> {
        let law = PairLaw {
            mu: friction,
            mu_kinetic: kinetic_friction,
            restitution,
            rolling,
            spinning,
            cohesion,
            stiffness,
            damping,
            ..PairLaw::default()
        };
        // Under their names here.
        let spelled = |e: String| {
            input(e.replace("mu_kinetic", "kinetic_friction").replace("above mu (", "above friction ("))
        };
        law.check().map_err(spelled)?;
        for (name, hint) in self.with(py, |w| nearly_named(w, [a, b])) {
            warn_of(py, &name, &hint)?;
        }
        self.change(py, |w| {
            let materials = w.materials_mut();
            let (a, b) = (materials.add(a)?, materials.add(b)?);
            materials.set_pair(a, b, law)
        })
        .map_err(input)
    }

    /// Names of the materials.
    #[getter]
    fn materials(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |w| w.materials().names().to_vec())
    }
}
