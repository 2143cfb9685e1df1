//! Joints: equations against finite differences, mechanisms against closed forms.

mod assembly;
mod basic;
mod jacobian;
mod special;
mod springs;
