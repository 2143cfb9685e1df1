//! Debug drawing: what a world knows, as arrays of lines.

use drystone::debug::DebugOptions;
use drystone::{Colour, DebugDraw};
use glam::DVec3;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

use super::PyWorld;
use crate::convert::{flag, maybe_number, number};
use crate::errors::input;

/// Lines of a world, for any plotting package.
#[pyclass(frozen, name = "Drawing", module = "drystone", get_all)]
pub struct Drawing {
    /// Both ends of each line, (n, 2, 3), m.
    lines: Py<PyArray3<f64>>,
    /// Red, green, blue and opacity of each, from 0 to 1, (n, 4).
    colours: Py<PyArray2<f32>>,
    /// Contact points and whatever else is a point, (m, 3), m.
    points: Py<PyArray2<f64>>,
    /// Their colours, (m, 4).
    point_colours: Py<PyArray2<f32>>,
}

#[pymethods]
impl Drawing {
    fn __len__(&self, py: Python<'_>) -> usize {
        use numpy::PyUntypedArrayMethods;
        self.lines.bind(py).shape()[0]
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        use numpy::PyUntypedArrayMethods;
        format!("<Drawing: {} lines, {} points>", self.__len__(py), self.points.bind(py).shape()[0])
    }
}

#[derive(Default)]
struct Lines {
    ends: Vec<f64>,
    colours: Vec<f32>,
    points: Vec<f64>,
    point_colours: Vec<f32>,
}

impl DebugDraw for Lines {
    fn line(&mut self, from: DVec3, to: DVec3, colour: Colour) {
        self.ends.extend(from.to_array().into_iter().chain(to.to_array()));
        self.colours.extend(colour.0);
    }

    fn point(&mut self, at: DVec3, _size: f64, colour: Colour) {
        self.points.extend(at.to_array());
        self.point_colours.extend(colour.0);
    }
}

#[pymethods]
impl PyWorld {
    /// What the world knows as lines and points: colliders, boxes around them, contacts and their normals,
    /// joints; forces (length of 1 N, m), velocities (length of 1 m/s, m) and axes (length, m) where they are
    /// asked for. `size` is the length of normals and frames, m.
    ///
    /// >>> import drystone as ds
    /// >>> world = ds.World()
    /// >>> brick = world.add_body(ds.box([0.1, 0.1, 0.1]), mass=1.0)
    /// >>> world.debug_draw()
    /// <Drawing: 12 lines, 0 points>
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (*, shapes=true, boxes=false, contacts=true, joints=true, forces=None, velocities=None, axes=None, size=0.05))]
    fn debug_draw(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = flag)] shapes: bool,
        #[pyo3(from_py_with = flag)] boxes: bool,
        #[pyo3(from_py_with = flag)] contacts: bool,
        #[pyo3(from_py_with = flag)] joints: bool,
        #[pyo3(from_py_with = maybe_number)] forces: Option<f64>,
        #[pyo3(from_py_with = maybe_number)] velocities: Option<f64>,
        #[pyo3(from_py_with = maybe_number)] axes: Option<f64>,
        #[pyo3(from_py_with = number)] size: f64,
    ) -> PyResult<Drawing> {
        for (name, x) in [
            ("forces", forces.unwrap_or(0.0)),
            ("velocities", velocities.unwrap_or(0.0)),
            ("axes", axes.unwrap_or(0.0)),
            ("size", size),
        ] {
            if !(x.is_finite() && x >= 0.0) {
                return Err(input(format!("{name} must be finite and not negative, got {x}")));
            }
        }
        let what = DebugOptions { shapes, boxes, contacts, forces, joints, axes, velocities, size };
        let mut drawn = Lines::default();
        self.with(py, |w| w.debug_draw(&mut drawn, &what));
        let (n, m) = (drawn.ends.len() / 6, drawn.points.len() / 3);
        Ok(Drawing {
            lines: PyArray1::from_vec(py, drawn.ends).reshape([n, 2, 3])?.unbind(),
            colours: PyArray1::from_vec(py, drawn.colours).reshape([n, 4])?.unbind(),
            points: PyArray1::from_vec(py, drawn.points).reshape([m, 3])?.unbind(),
            point_colours: PyArray1::from_vec(py, drawn.point_colours).reshape([m, 4])?.unbind(),
        })
    }
}
