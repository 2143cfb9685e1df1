//! The mesh files that a scene file names: found relative to it, read once, shared by all bodies that use
//! them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drystone::{Pose, Shape};
use glam::DVec3;

use super::copies::Filled;
use super::shape::Made;
use crate::mesh::{self, Target};
use crate::text::{At, Fault, Source};

pub(super) struct Library {
    /// Where the parts of the file come from, by the offsets at which they begin.
    folders: Vec<(usize, PathBuf)>,
    /// What random copies have taken up.
    pub filled: Filled,
    /// By use, path and parameters: the shape, and the solid that it stands for.
    made: RefCell<BTreeMap<String, (Shape, Shape)>>,
}

impl Library {
    /// Paths are relative to the folder of the scene file, or of the included file that has them.
    pub fn of(source: &Source) -> Self {
        Self { folders: source.folders(), filled: Filled::default(), made: RefCell::default() }
    }

    /// The path that a `file` field means.
    pub fn path(&self, file: &At) -> Result<PathBuf, Fault> {
        let text = file.text()?;
        if text.is_empty() {
            return Err(file.fault("the name of a file is missing"));
        }
        let here = self.folders.iter().rev().find(|(from, _)| *from <= file.node.offset);
        Ok(here.map_or_else(|| PathBuf::from(text), |(_, folder)| folder.join(text)))
    }

    fn once(
        &self,
        file: &At,
        parameters: String,
        make: impl FnOnce(&Path) -> Result<(Shape, Shape), String>,
    ) -> Result<(Shape, Shape), Fault> {
        let path = self.path(file)?;
        let key = format!("{parameters} {}", path.display());
        if let Some(found) = self.made.borrow().get(&key) {
            return Ok(found.clone());
        }
        let made = make(&path).map_err(|e| file.fault(e))?;
        self.made.borrow_mut().insert(key, made.clone());
        Ok(made)
    }

    /// The hull of the vertices of a file.
    pub fn hull(&self, file: &At, scale: DVec3) -> Result<Shape, Fault> {
        let make = |path: &Path| {
            let surface = mesh::read(path, scale).map_err(|e| e.to_string())?;
            let shape = Shape::hull(&surface.vertices).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok((shape.clone(), shape))
        };
        self.once(file, format!("hull {scale}"), make).map(|(shape, _)| shape)
    }

    /// The surface in a file as it is.
    pub fn mesh(&self, file: &At, scale: DVec3) -> Result<Shape, Fault> {
        let make = |path: &Path| {
            let surface = mesh::read(path, scale).map_err(|e| e.to_string())?;
            let shape = surface.shape().map_err(|e| format!("{}: {e}", path.display()))?;
            Ok((shape.clone(), shape))
        };
        self.once(file, format!("mesh {scale}"), make).map(|(shape, _)| shape)
    }

    /// Convex parts of the solid in a file, with the mass of the solid.
    pub fn decomposed(&self, file: &At, scale: DVec3, target: &Target) -> Result<Made, Fault> {
        let make = |path: &Path| {
            let (surface, found, _) = mesh::parts_of(path, scale, target).map_err(|e| e.to_string())?;
            let parts = found.parts.into_iter().map(|p| (Pose::IDENTITY, Shape::Hull(p.hull))).collect();
            let shape = Shape::compound(parts).map_err(|e| format!("{}: {e}", path.display()))?;
            let solid = surface.shape().map_err(|e| format!("{}: {e}", path.display()))?;
            Ok((shape, solid))
        };
        let parameters = format!("decomposed {scale} {} {}", target.parts, target.threshold);
        let (shape, solid) = self.once(file, parameters, make)?;
        Ok(Made { shape, matter: vec![(Pose::IDENTITY, solid)] })
    }
}
