//! A shape of a body.

use drystone::{Collider, Filter};
use pyo3::prelude::*;

use crate::convert::{Bits, Q4, V3, pose};
use crate::shape::PyShape;

/// A shape fixed to a body: its place (m) and rotation in the body's frame, friction, material, layers and
/// mask. A sensor reports what overlaps it and pushes nothing.
#[pyclass(frozen, name = "Collider", module = "drystone")]
pub struct PyCollider {
    pub collider: Collider,
    pub material: Option<String>,
}

#[pymethods]
impl PyCollider {
    #[allow(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (shape, *, position=None, rotation=None, friction=0.0, material=None, layers=Bits(1), mask=Bits(u32::MAX), sensor=false))]
    fn new(
        shape: PyShape,
        position: Option<V3>,
        rotation: Option<Q4>,
        friction: f64,
        material: Option<String>,
        layers: Bits,
        mask: Bits,
        sensor: bool,
    ) -> Self {
        let filter = Filter { layers: layers.0, mask: mask.0 };
        let collider =
            Collider { filter, sensor, ..Collider::new(shape.0, friction).at(pose(position, rotation)) };
        Self { collider, material }
    }
}
