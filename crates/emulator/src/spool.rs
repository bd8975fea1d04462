//! Files without a name: what a run writes appears whole at its end, and not at all when the run dies.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::AtFlags;
use nix::unistd::linkat;

/// Records wait in memory until they are worth a write.
const WORTH_A_WRITE: usize = 256 << 10;

/// A file that grows by whole records. When a write fails it ends behind the last one that succeeded.
#[derive(Debug)]
pub struct Spool {
    file: File,
    length: u64,
    waiting: Vec<u8>,
    /// Why it no longer grows.
    stopped: Option<io::ErrorKind>,
}

impl Spool {
    /// A file without a name in `directory`.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC);
        let file = match options.open(directory) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => {
                unlinked(directory)?
            }
            other => other?,
        };
        Ok(Spool::over(file))
    }

    /// Grows an open file.
    pub fn over(file: File) -> Self {
        Spool { file, length: 0, waiting: Vec::with_capacity(2 * WORTH_A_WRITE), stopped: None }
    }

    /// Appends whole records.
    ///
    /// A failure is told once; from then on nothing is kept.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        if self.stopped.is_some() {
            return Ok(());
        }
        self.waiting.extend_from_slice(records);
        if self.waiting.len() >= WORTH_A_WRITE { self.flush() } else { Ok(()) }
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.stopped.is_some() || self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all_at(&self.waiting, self.length);
        match &written {
            Ok(()) => self.length += self.waiting.len() as u64,
            Err(error) => {
                self.stopped = Some(error.kind());
                // Nothing half-written stays; if even this fails, `length` still says where to stop reading.
                let _ = self.file.set_len(self.length);
            }
        }
        self.waiting.clear();
        written
    }

    /// Whether a write failed, so that the file misses what came later.
    pub fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Bytes in the file.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fills `bytes` from `offset` on.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    /// All of it.
    pub fn contents(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length as usize];
        self.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Gives the file a name, in place of any file of that name.
    ///
    /// On another file system it is copied, and gets its name when the copy is complete.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        if self.link(path).is_ok() {
            return Ok(());
        }
        let copy = neighbour(path);
        let copied = self.copy_to(&copy).and_then(|()| std::fs::rename(&copy, path));
        if copied.is_err() {
            let _ = std::fs::remove_file(&copy);
        }
        copied
    }

    fn link(&self, path: &Path) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let here = nix::fcntl::AT_FDCWD;
        let link = |to: &Path| linkat(here, own.as_str(), here, to, AtFlags::AT_SYMLINK_FOLLOW);
        match link(path) {
            Err(nix::errno::Errno::EEXIST) => {
                let other = neighbour(path);
                link(&other)?;
                std::fs::rename(&other, path)
            }
            other => Ok(other?),
        }
    }

    fn copy_to(&self, path: &Path) -> io::Result<()> {
        let mut target = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut source = self.file.try_clone()?;
        source.seek(SeekFrom::Start(0))?;
        io::copy(&mut source.take(self.length), &mut target)?;
        Ok(())
    }
}

/// A name beside `path` that nobody else takes.
fn neighbour(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// Where a file system has no files without a name: one that loses its name at once.
fn unlinked(directory: &Path) -> io::Result<File> {
    for attempt in 0.. {
        let path = directory.join(format!(".cellwind-{}-{attempt}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => {
                let file = other?;
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
    unreachable!("some name is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cellwind-spool-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_spool_has_no_name_until_it_is_saved() {
        let directory = directory("name");
        let mut spool = Spool::create(&directory).unwrap();
        spool.append(b"one ").unwrap();
        spool.append(b"two").unwrap();
        spool.flush().unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        let path = directory.join("file");
        std::fs::write(&path, "older").unwrap();
        spool.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one two");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
        assert_eq!(spool.contents().unwrap(), b"one two");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_system_without_nameless_files_is_served() {
        let directory = directory("unlinked");
        let mut spool = Spool::over(unlinked(&directory).unwrap());
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        spool.append(b"bytes").unwrap();
        spool.flush().unwrap();
        let path = directory.join("file");
        spool.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"bytes");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_full_disk_is_told_once() {
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let mut spool = Spool::over(full);
        spool.append(b"record").unwrap();
        assert_eq!(spool.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        spool.append(b"record").unwrap();
        spool.flush().unwrap();
        assert!(spool.has_stopped() && spool.is_empty());
    }
}
