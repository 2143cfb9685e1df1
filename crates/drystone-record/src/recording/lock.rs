//! One process writes into a recording at a time.
//!
//! The lock is the operating system's, on a file in the folder: it ends with the process that holds it,
//! however that ends. What the file says is for people, and means nothing while nobody holds the lock. Who
//! reads a recording does not look at it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use super::RecordError;

const NAME: &str = ".lock";

/// The right to write into a recording; given back when it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it for a folder that is there.
    ///
    /// # Errors
    /// Where another process has it, saying which, and where the folder cannot be written.
    pub fn take(folder: &Path) -> Result<Self, RecordError> {
        let bad = |text: String| RecordError::File { file: folder.into(), text };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(folder.join(NAME));
        let mut file = file.map_err(|e| bad(e.to_string()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                let _ = file.read_to_string(&mut who);
                let who = if who.is_empty() { "another process" } else { &who };
                return Err(bad(format!(
                    "{who} writes into this recording: wait until it has ended, or end it"
                )));
            }
            // Some file systems have no locks: one cannot say more than not to write twice.
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(bad(format!("it cannot be locked: {e}"))),
        }
        // The lock holds without it.
        let _ = file.set_len(0).and_then(|()| file.write_all(who().as_bytes()));
        Ok(Self { _file: file })
    }
}

/// The process that writes into a folder now, for people; None if there is none.
pub(super) fn holder(folder: &Path) -> Option<String> {
    let mut file = File::open(folder.join(NAME)).ok()?;
    let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let mut who = String::new();
    held.then(|| file.read_to_string(&mut who))?.ok()?;
    Some(if who.is_empty() { "another process".into() } else { who })
}

/// This process, for people.
fn who() -> String {
    let command: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let host = host().map_or(String::new(), |host| format!(" on {host}"));
    format!("process {}{host} (`{}`)", std::process::id(), command.join(" "))
}

/// The name of this machine: a folder may be shared by several.
fn host() -> Option<String> {
    let mut name = [0u8; 256];
    // SAFETY: place and length are those of our own array.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) } != 0;
    let end = name.iter().position(|b| *b == 0).filter(|end| *end > 0 && !failed)?;
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writes_at_a_time_and_is_named() {
        let folder = std::env::temp_dir().join(format!("drystone-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = Lock::take(&folder).unwrap();
        let refused = Lock::take(&folder).unwrap_err().to_string();
        let me = format!("process {} ", std::process::id());
        assert!(refused.contains(&me) && refused.contains("writes into this recording"), "{refused}");
        assert!(holder(&folder).unwrap().contains(&me));
        drop(first);
        assert_eq!(holder(&folder), None);
        drop(Lock::take(&folder).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Lock::take(&folder).is_err());
    }
}
