//! The examples run; what they claim is asserted in them.

#[path = "../examples/add_remove.rs"]
mod add_remove;
#[path = "../examples/checkpoint.rs"]
mod checkpoint;
#[path = "../examples/contacts_callback.rs"]
mod contacts_callback;
#[path = "../examples/controller.rs"]
mod controller;
#[path = "../examples/custom_constraint.rs"]
mod custom_constraint;
#[path = "../examples/custom_solver.rs"]
mod custom_solver;
#[path = "../examples/debug_draw.rs"]
mod debug_draw;
#[path = "../examples/events.rs"]
mod events;
#[path = "../examples/falling_stack.rs"]
mod falling_stack;
#[path = "../examples/friction_law.rs"]
mod friction_law;
#[path = "../examples/mechanism.rs"]
mod mechanism;
#[path = "../examples/parallel_worlds.rs"]
mod parallel_worlds;
#[path = "../examples/queries.rs"]
mod queries;
#[path = "../examples/solve_problem.rs"]
mod solve_problem;

macro_rules! run {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        /// No example is forgotten.
        #[test]
        fn all_are_run() {
            let here = [$(stringify!($name)),*];
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
                assert!(here.contains(&name.as_str()), "{name} is not run");
            }
        }
    };
}

run! {
    add_remove checkpoint contacts_callback controller custom_constraint custom_solver debug_draw events falling_stack friction_law
    mechanism parallel_worlds queries solve_problem
}
