//! Scenario files, read from the disk and checked to be text.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Mistake, ScenarioError};
use crate::source::Source;

/// The largest scenario file that is read; a larger one is surely something else.
const LARGEST_FILE: u64 = 16 << 20;

/// Reads a file. The error has no place; the caller knows who asked for the file.
pub fn file(path: &Path) -> Result<Arc<Source>, ScenarioError> {
    let name = path.display().to_string();
    let mistake = |mistake, message: String| ScenarioError::new(mistake, message).in_file(&name);
    let cannot = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => mistake(Mistake::FileNotFound, "there is no such file".into()),
        ErrorKind::IsADirectory => mistake(Mistake::Directory, "it is a directory, not a file".into()),
        _ => mistake(Mistake::Unreadable, format!("the file cannot be read: {error}")),
    };
    let file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!("it is larger than {} MiB, which no scenario is", LARGEST_FILE >> 20);
        return Err(mistake(Mistake::FileTooLarge, message));
    }
    let text = text(bytes).map_err(|error| error.in_file(&name))?;
    let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Arc::new(Source { name, text, directory, is_preset: false }))
}

/// The text in `bytes`, which must be UTF-8 without NUL; a byte order mark is dropped.
pub fn text(bytes: Vec<u8>) -> Result<String, ScenarioError> {
    let not_text = |at: usize| {
        let message = format!("it is not a text file: byte {} is not UTF-8 text", at + 1);
        ScenarioError::new(Mistake::NotText, message).allowed("a TOML file in UTF-8")
    };
    if let Some(nul) = bytes.iter().position(|byte| *byte == 0) {
        return Err(not_text(nul));
    }
    let text = String::from_utf8(bytes).map_err(|error| not_text(error.utf8_error().valid_up_to()))?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_string()),
        None => Ok(text),
    }
}
