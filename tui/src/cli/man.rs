//! `levelhead man`: the manual pages, made from what can be typed.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use clap::{Command, CommandFactory as _};

use super::{
    args::Cli,
    exit::{Exit, Failure, Outcome},
    out,
};

/// Prints the page of the whole; with `dir`, writes one for it and for each verb there.
pub(crate) fn run(dir: Option<&Path>) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = dir else {
        out::raw(&page(command, "levelhead")?);
        return Ok(Exit::Done);
    };
    let cannot = |error: std::io::Error| {
        Failure::new(Exit::Invalid, format!("cannot write into {}: {error}", dir.display()))
    };
    fs::create_dir_all(dir).map_err(cannot)?;
    let mut written = 0;
    for (name, command) in pages("levelhead", &command) {
        let text = page(command, &name)?;
        let path = dir.join(format!("{name}.1"));
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).open(&path);
        file.and_then(|mut file| file.write_all(&text)).map_err(cannot)?;
        written += 1;
    }
    out::note(format!("{written} pages; `man -l {}/levelhead.1` shows the first", dir.display()));
    Ok(Exit::Done)
}

/// A command and all of its verbs that are to be known, by the names of their pages.
fn pages(name: &str, command: &Command) -> Vec<(String, Command)> {
    let mut all = vec![(name.to_owned(), command.clone())];
    let shown = |verb: &&Command| !verb.is_hide_set() && verb.get_name() != "help";
    for verb in command.get_subcommands().filter(shown) {
        all.extend(pages(&format!("{name}-{}", verb.get_name()), verb));
    }
    all
}

fn page(command: Command, title: &str) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let made = clap_mangen::Man::new(command).title(title).render(&mut text);
    made.map_err(|error| Failure::internal("the page cannot be made", &error))?;
    Ok(text)
}
