//! New files for what was shown: never over another one, and for nobody else to read.

use std::{
    fs::File,
    io::{self, ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
};

/// How many names are tried before another directory is the better idea.
const NAMES_MAX: u32 = 1_000;

/// Writes each text into a file of its own in the working directory; says which.
pub(super) fn write(stem: &str, parts: &[(&'static str, String)]) -> io::Result<String> {
    let mut names = Vec::new();
    for (ending, text) in parts {
        let (name, mut file) = fresh(stem, ending)?;
        file.write_all(text.as_bytes())?;
        names.push(name);
    }
    Ok(names.join(" and "))
}

fn fresh(stem: &str, ending: &str) -> io::Result<(String, File)> {
    for nth in 0..NAMES_MAX {
        let number = if nth == 0 { String::new() } else { format!("-{nth}") };
        let name = format!("{stem}{number}.{ending}");
        match File::options().write(true).create_new(true).mode(0o600).open(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, format!("{stem}.{ending} and all after it exist")))
}
