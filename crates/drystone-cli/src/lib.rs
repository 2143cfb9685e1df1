//! The drystone command: parses, shows, and calls the crates below. No physics here.
//!
//! It is a library for programs that take a run's steps in a way of their own ([`Elsewhere`]), and otherwise
//! are the command: `drystone-mpi`, over many processes.

mod bench;
mod catalogue;
mod compare;
mod decompose;
mod devices;
mod elsewhere;
mod export;
mod failure;
mod files;
mod import;
mod interrupt;
mod lcp;
mod live;
mod new;
mod numbered;
mod outputs;
mod own;
mod portrait;
mod progress;
mod race;
mod record;
mod resume;
mod roofline;
mod run;
mod simulation;
mod solve;
mod state;
mod study;
mod terminal;
mod view;
mod zoo;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
pub use elsewhere::Elsewhere;

/// Rigid-body dynamics with hard contacts and dry friction; every step has a certificate of its accuracy.
#[derive(Parser)]
#[command(name = "drystone", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate a scene and report.
    #[command(allow_negative_numbers = true)]
    Run(run::Args),
    /// Continue a recorded run from its last checkpoint; the result is bitwise that of an uninterrupted run.
    #[command(allow_negative_numbers = true)]
    Resume(resume::Args),
    /// Write a recording in another form: tables, surfaces for ParaView, a glTF animation, an HTML file,
    /// pictures, a film.
    #[command(allow_negative_numbers = true)]
    Export(export::Args),
    /// Sum up a recording, or two side by side, and draw their course.
    Report(export::ReportArgs),
    /// List the gallery: names, parameters with defaults and units, papers.
    Scenes(catalogue::Args),
    /// List the solvers: names, parameters, when to use them, citations.
    Solvers(catalogue::Args),
    /// Write a commented scene file to begin with.
    New(new::Args),
    /// Make a scene file of a robot: URDF or MuJoCo's XML; lists what was not understood.
    Import(import::Args),
    /// Print the JSON Schema of scene files, for editors that complete from it.
    Schema,
    /// Validate a scene file or flat state: what it holds, and what is probably not intended; exit 2 with
    /// all errors by file, line, column and field.
    Check(catalogue::CheckArgs),
    /// Solve one step of a scene, or problems from files, with several solvers, and compare their
    /// results by the same certificate.
    #[command(allow_negative_numbers = true)]
    Compare(compare::Args),
    /// Solve a bare contact problem from a file; exit 3 if the tolerance was not reached.
    #[command(allow_negative_numbers = true)]
    Solve(solve::Args),
    /// Pyramids of balls as linear complementarity problems, and the relaxed law against the exact one as h
    /// falls.
    Lcp(lcp::Args),
    /// Race every solver on the same step: velocity errors, stacks, interior point beside first order.
    Race(race::Args),
    /// Run a scene once for every value of an option and compare one number of the reports.
    Study(Box<study::Args>),
    /// Measure fixed scenes: milliseconds by stage, nanoseconds per contact and iteration, memory.
    #[command(allow_negative_numbers = true)]
    Bench(bench::Args),
    /// Simulate to a time and write the flat state that any engine can start from.
    #[command(allow_negative_numbers = true)]
    State(state::Args),
    /// Draw a scene or state as a PNG, or a recording or snapshots as a series of them, without GPU or
    /// display.
    #[command(allow_negative_numbers = true)]
    Picture(portrait::Args),
    /// Look at a recording, a scene, a flat state or a snapshot file in the browser, or write one HTML file
    /// of it. Scenes are simulated while you look.
    #[command(allow_negative_numbers = true)]
    View(Box<view::Args>),
    /// Simulate a scene in real time behind a page in the browser: drag, add and drive while it runs.
    #[command(allow_negative_numbers = true)]
    Live(Box<live::Args>),
    /// Cut a concave mesh into convex parts, as scene files with type = "decomposed" do.
    #[command(allow_negative_numbers = true)]
    Decompose(decompose::Args),
    /// List the GPUs that --backend cuda could use, or say why there is none.
    Devices(catalogue::Args),
    /// Random scenes by seed, and the invariants that every scene must keep; exit 1 if one is broken.
    Zoo(zoo::Args),
}

/// The options of a `drystone run` command, word by word; None if it is something else.
fn parse_run(words: &[String]) -> Option<run::Args> {
    match Cli::try_parse_from(words).ok()?.command {
        Command::Run(args) => Some(args),
        _ => None,
    }
}

/// The command line; what `view` looks at is more than other commands take.
fn parse() -> Result<Cli, clap::Error> {
    let shown = "A recording (its folder or a file in it), a gallery name (see `drystone scenes`), a scene file (.toml, \
                 .json), a flat state (.json, .json.gz), or a file of snapshots";
    let command =
        Cli::command().mut_subcommand("view", |view| view.mut_arg("scene", |scene| scene.help(shown)));
    Cli::from_arg_matches(&command.try_get_matches()?)
}

/// Does what the command line says; returns the exit status. `program` is what errors begin with. With
/// `elsewhere` the steps of `run` and `resume` are taken there, and there is no other command.
pub fn main(program: &str, elsewhere: Option<Box<dyn Elsewhere>>) -> i32 {
    let command = match parse() {
        Ok(cli) => cli.command,
        Err(e) => {
            // Help goes to standard output, errors to the other. A reader that is gone has no use for either.
            let _ = e.print();
            return e.exit_code();
        }
    };
    let installed = interrupt::install();
    match installed.and_then(|()| obey(command, elsewhere)) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{program}: {}", failure.message);
            failure.code
        }
    }
}

fn obey(command: Command, elsewhere: Option<Box<dyn Elsewhere>>) -> Result<i32, failure::Failure> {
    if let Some(elsewhere) = &elsewhere
        && !matches!(command, Command::Run(_) | Command::Resume(_))
    {
        return Err(failure::Failure::input(format!(
            "there is run and resume over {}; all other commands are those of drystone",
            elsewhere.name()
        )));
    }
    match command {
        Command::Run(args) => run::main(args, elsewhere),
        Command::Resume(args) => resume::main(args, elsewhere),
        Command::Export(args) => export::main(args),
        Command::Report(args) => export::report(args),
        Command::Scenes(args) => catalogue::scenes(args),
        Command::Solvers(args) => catalogue::solvers(args),
        Command::New(args) => new::main(args),
        Command::Import(args) => import::main(args),
        Command::Schema => new::schema(),
        Command::Check(args) => catalogue::check(args),
        Command::Compare(args) => compare::main(args),
        Command::Solve(args) => solve::main(args),
        Command::Lcp(args) => lcp::tables(args),
        Command::Race(args) => race::main(args),
        Command::Study(args) => study::main(*args),
        Command::Bench(args) => bench::main(args),
        Command::State(args) => state::main(args),
        Command::Picture(args) => portrait::main(args),
        Command::View(args) => view::main(*args),
        Command::Live(args) => live::main(*args),
        Command::Decompose(args) => decompose::main(args),
        Command::Devices(args) => devices::main(args),
        Command::Zoo(args) => zoo::main(args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn no_command_has_two_options_of_one_name() {
        super::Cli::command().debug_assert();
    }
}
