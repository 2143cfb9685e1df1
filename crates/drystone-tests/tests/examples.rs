//! The examples run; what they claim is asserted in them.

#[path = "../../drystone/examples/add_remove.rs"]
mod add_remove;
#[path = "../../drystone/examples/checkpoint.rs"]
mod checkpoint;
#[path = "../../drystone/examples/contacts_callback.rs"]
mod contacts_callback;
#[path = "../../drystone/examples/controller.rs"]
mod controller;
#[path = "../../drystone/examples/custom_constraint.rs"]
mod custom_constraint;
#[path = "../../drystone/examples/custom_solver.rs"]
mod custom_solver;
#[path = "../../drystone/examples/debug_draw.rs"]
mod debug_draw;
#[path = "../../drystone/examples/events.rs"]
mod events;
#[path = "../../drystone/examples/falling_stack.rs"]
mod falling_stack;
#[path = "../../drystone/examples/friction_law.rs"]
mod friction_law;
#[path = "../../drystone/examples/mechanism.rs"]
mod mechanism;
#[path = "../../drystone/examples/parallel_worlds.rs"]
mod parallel_worlds;
#[path = "../../drystone/examples/queries.rs"]
mod queries;
#[path = "../../drystone/examples/solve_problem.rs"]
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
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../drystone/examples");
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
