//! Writing whole files.

use std::io::Write;
use std::path::Path;

/// Writes a file through a temporary name beside it, so that a reader never sees half of it. `-` is standard
/// output; a link is followed; a pipe or device is written to as it is. Folders on the way are made.
pub fn write(to: &Path, content: &[u8]) -> std::io::Result<()> {
    if to.as_os_str() == "-" {
        let mut out = std::io::stdout().lock();
        out.write_all(content)?;
        return out.flush();
    }
    make_folder(to)?;
    let target = std::fs::canonicalize(to).unwrap_or_else(|_| to.to_path_buf());
    if std::fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(&target)?.write_all(content);
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let done = std::fs::write(&temporary, content).and_then(|()| std::fs::rename(&temporary, &target));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Makes the folder that `path` is in.
pub fn make_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|f| !f.as_os_str().is_empty()) {
        Some(folder) => std::fs::create_dir_all(folder),
        None => Ok(()),
    }
}

/// Says early what would go wrong at the end of a long run: a folder in the way, or one that cannot be made.
pub fn check_writable(path: &Path) -> std::io::Result<()> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    if path.is_dir() {
        return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a directory"));
    }
    make_folder(path)?;
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return Ok(());
    }
    let existed = path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    if !existed {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("drystone-file-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn folders_are_made_and_neighbours_survive() {
        let f = folder("new");
        std::fs::write(f.join("a.json.tmp"), "mine").unwrap();
        write(&f.join("deep/er/a.json"), b"x").unwrap();
        write(&f.join("a.json"), b"y").unwrap();
        assert_eq!(std::fs::read(f.join("deep/er/a.json")).unwrap(), b"x");
        assert_eq!(std::fs::read(f.join("a.json.tmp")).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(&f).unwrap().count(), 3);
        std::fs::remove_dir_all(f).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let f = folder("link");
        std::fs::write(f.join("real"), "old").unwrap();
        std::os::unix::fs::symlink(f.join("real"), f.join("link")).unwrap();
        write(&f.join("link"), b"new").unwrap();
        assert!(std::fs::symlink_metadata(f.join("link")).unwrap().is_symlink());
        assert_eq!(std::fs::read(f.join("real")).unwrap(), b"new");
        std::fs::remove_dir_all(f).unwrap();
    }

    #[test]
    fn a_folder_in_the_way_is_seen_early() {
        let f = folder("dir");
        assert!(check_writable(&f).is_err());
        assert!(check_writable(&f.join("x.json")).is_ok());
        assert!(!f.join("x.json").exists());
        std::fs::remove_dir_all(f).unwrap();
    }
}
