//! A folder of a test's own, and the command run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// How the command ended and what it said.
pub struct Outcome {
    /// Exit status; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// A folder that is removed with the value. Relative paths of commands are relative to it.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// An empty folder; no two tests may use one name.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// A path in the folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.at(name), content).unwrap();
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Reads a file of JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The command with words split at spaces, not yet started.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
        command.args(line.split_whitespace()).current_dir(&self.path).stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, line: &str) -> Outcome {
        outcome(self.command(line))
    }

    /// Runs a command that must succeed without a word on standard error; returns standard output.
    pub fn good(&self, line: &str) -> String {
        let o = self.run(line);
        assert!(o.code == 0 && o.err.is_empty(), "drystone {line}: status {}, {}", o.code, o.err);
        o.out
    }

    /// Runs a command that must be refused as bad input, without a word on standard output; returns standard
    /// error.
    pub fn bad(&self, line: &str) -> String {
        let o = self.run(line);
        refused(line, o)
    }

    /// The report of a run that must succeed.
    pub fn report(&self, line: &str) -> Value {
        // On a busy machine a run may take long enough for a line of progress.
        let quiet = if line.contains("--quiet") { "" } else { " --quiet" };
        let text = self.good(&format!("run {line} --report -{quiet}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("run {line}: not pure JSON: {e}\n{text}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What a failed test left is worth a look.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Runs a command to its end.
pub fn outcome(mut command: Command) -> Outcome {
    let o = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command prints UTF-8");
    Outcome { code: o.status.code().unwrap_or(-1), out: text(o.stdout), err: text(o.stderr) }
}

/// Asserts that a command was refused as bad input; returns what it said.
pub fn refused(line: &str, o: Outcome) -> String {
    assert_eq!(o.code, 2, "drystone {line}: status {}, {}", o.code, o.err);
    assert!(o.out.is_empty(), "drystone {line}: errors belong on standard error, got {}", o.out);
    assert!(!o.err.is_empty(), "drystone {line}: refused without a word");
    o.err
}

/// A number in a JSON value by its path, as `penetration_m.max`.
pub fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |v, key| &v[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}, not a number"))
}

/// Asserts that a text holds all of several.
pub fn holds(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}
