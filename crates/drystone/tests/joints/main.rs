//! Joints: equations against finite differences, mechanisms against closed forms.

mod basic;
mod jacobian;
