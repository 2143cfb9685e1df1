//! Pictures, portraits and plots; the example of a recording.

mod picture;
mod plot;
mod portrait;

#[path = "../../examples/recording.rs"]
mod recording;

#[test]
fn the_example_of_a_recording_runs() {
    recording::main().unwrap();
}
