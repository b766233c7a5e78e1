//! How the file itself is read.

use std::os::unix::{ffi::OsStrExt, fs::symlink};

use driver::config::{ConfigError, FILE_BYTES_MAX, ReadError, load, read};
use tempfile::TempDir;

use super::support::{HEAD, WEB, catalogue};

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).expect("it fits")
}

#[test]
fn a_regular_file_is_read_and_bound_by_its_digest() {
    let dir = directory();
    let path = dir.path().join("cluster.toml");
    std::fs::write(&path, "abc").unwrap();
    let source = read(&path).unwrap();
    assert_eq!(source.text, "abc");
    // The published test vector of SHA-256.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(source.digest, digest);
    std::fs::write(&path, format!("{HEAD}{WEB}")).unwrap();
    assert!(load(&path, &catalogue()).is_ok());
}

#[test]
fn links_directories_and_pipes_are_refused() {
    let dir = directory();
    let target = dir.path().join("target.toml");
    std::fs::write(&target, "version = 1\n").unwrap();
    let link = dir.path().join("link.toml");
    symlink(&target, &link).unwrap();
    assert!(matches!(read(&link), Err(ReadError::Link { .. })));
    assert!(matches!(read(dir.path()), Err(ReadError::NotRegular { .. })));
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    assert!(matches!(read(&pipe), Err(ReadError::NotRegular { .. })));
}

#[test]
fn an_absent_file_names_the_command_that_writes_one() {
    let error = load(&directory().path().join("none.toml"), &catalogue()).unwrap_err();
    let shown = error.render(false);
    assert!(shown.contains("No such file") && shown.contains("levelhead init"), "{shown}");
    assert_eq!(error.to_json()[0]["line"], 0);
}

#[test]
fn a_file_of_more_than_the_limit_is_refused() {
    let dir = directory();
    let path = dir.path().join("large.toml");
    std::fs::write(&path, vec![b'#'; size(FILE_BYTES_MAX)]).unwrap();
    assert!(read(&path).is_ok());
    std::fs::write(&path, vec![b'#'; size(FILE_BYTES_MAX) + 1]).unwrap();
    assert!(matches!(read(&path), Err(ReadError::TooLarge { .. })));
}

#[test]
fn the_first_byte_that_is_not_utf_8_is_named() {
    let dir = directory();
    let path = dir.path().join("latin.toml");
    std::fs::write(&path, b"a = 1\nb = \"\xc3\xa9\xe9\"\n").unwrap();
    let error = load(&path, &catalogue()).unwrap_err();
    let ConfigError::Read(ReadError::NotUtf8 { line, column, offset, .. }) = error else {
        panic!("another error: {error}");
    };
    assert_eq!((line, column, offset), (2, 7, 13));
}

#[test]
fn a_hostile_path_cannot_reach_the_terminal() {
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(b"/none/\x1b[31mred\xff"));
    let shown = load(path, &catalogue()).unwrap_err().render(false);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}
