//! Triangle meshes and compounds: contacts, rays, and bodies that move on them.

mod creases;
mod fast;
mod flat;
mod kinematic;
mod mesh_common;
mod midphase_bvh;
mod midphase_compound;
mod midphase_query;
mod oracle;
mod reproducible;
