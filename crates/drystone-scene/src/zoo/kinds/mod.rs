//! The kinds of random scenes, by what goes on in them.

mod balls;
mod closed;
mod driven;
mod dropped;
mod flow;
mod machines;
mod mechanisms;
mod press;
mod stacks;

use super::Kind;

macro_rules! kinds {
    ($($name:literal, $weight:literal, $build:path, $title:literal;)*) => {
        &[$(Kind { name: $name, title: $title, weight: $weight, build: $build }),*]
    };
}

/// The table: name, weight, builder, one line.
pub(super) const ALL: &[Kind] = kinds![
    "lentils", 5, dropped::lentils, "flat ellipsoids dropped on a plane";
    "cones", 5, dropped::cones, "two small cones dropped on a thick slab, one thrown up and turning";
    "gravel", 2, dropped::gravel, "cones, hulls and boxes of a few centimetres poured on a slab";
    "heap", 4, dropped::heap, "solids of every shape on a plane, slab, height field or mesh";
    "drum", 5, closed::drum, "capsules in a closed drum that turns or stands";
    "mesh-box", 5, closed::mesh_box, "fast ellipsoids in a closed box of triangles";
    "needles", 4, closed::needles, "long and small bodies in a closed box";
    "spin", 5, closed::spin, "bodies in a closed box that turn by up to a radian a step";
    "billiards", 4, balls::billiards, "a ball into others on a table with cushions";
    "corner", 4, balls::corner, "balls thrown into a corner, and a heavy body far away";
    "projectile", 4, balls::projectile, "a fast body against blocks and a thin plate before a wall";
    "pendulum-ball", 3, balls::pendulum_ball, "an elastic ball beside a pendulum";
    "cradle", 3, balls::cradle, "a row of elastic balls on rods";
    "mass-stack", 4, stacks::mass_ratio, "a stack with masses up to a million to one";
    "far-stack", 2, stacks::far_stack, "a stack, and spheres at rest half a kilometre away";
    "tilt-wall", 2, stacks::tilt_wall, "a wall of blocks on a table that tilts, exact law";
    "sizes", 4, stacks::sizes, "bodies from a millimetre to ten metres";
    "closing", 4, driven::closing, "walls that close on bodies and leave room for them";
    "crush", 3, driven::crush, "walls or a wedge that close on bodies without room";
    "shaker", 3, driven::shaker, "a closed box of balls of two sizes that is shaken";
    "mixer", 4, driven::mixer, "a paddle that turns in a closed drum of bodies";
    "belt", 3, driven::belt, "bodies on a belt that runs against a wall";
    "shear", 2, press::shear, "grains under a loaded plate, sheared by a frame";
    "triaxial", 2, press::triaxial, "grains between six plates pressed by forces";
    "double-pendulum", 4, mechanisms::double_pendulum, "short links released near upright";
    "ragdoll", 3, mechanisms::ragdoll, "a jointed figure with limits dropped on a floor";
    "flaps", 5, mechanisms::flaps, "hinged flaps that bounce between limits";
    "planar-hinge", 3, mechanisms::planar_hinge, "a bar on a hinge, locked to its plane or not";
    "sleeve", 3, mechanisms::sleeve, "a sleeve on a pole with a mass on a spring";
    "motors", 4, machines::motors, "an arm with motors among loose bodies";
    "crawler", 3, machines::crawler, "a walker on driven legs, stabilised sweeps";
    "crank", 3, machines::crank, "a slider crank pushes a block";
    "emitter", 3, flow::emitter, "bodies come from an emitter and go into a sink";
    "periodic", 4, flow::periodic, "bodies slide and tumble in a periodic world";
];
