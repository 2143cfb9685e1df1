//! Joints: equations against finite differences, mechanisms against closed forms.

mod assembly;
mod basic;
mod custom;
mod equilibrium;
mod jacobian;
mod smooth;
mod special;
mod springs;
