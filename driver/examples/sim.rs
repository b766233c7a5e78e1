//! The simulator from the command line: plays seeds or a stored story. `cargo xtask sim` and `replay` run it.

use std::{
    error::Error,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use driver::sim::{Story, run, shrink, tell};

const USAGE: &str = "usage: sim --seeds N | --seed S | --replay FILE";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["--seeds", n] => n.parse().map_err(Into::into).and_then(fresh),
        ["--seed", seed] => seed.parse().map_err(Into::into).and_then(|seed| seeds([seed])),
        ["--replay", file] => replay(Path::new(file)),
        _ => say(USAGE).map(|()| ExitCode::from(64)),
    };
    done.unwrap_or_else(|error| {
        // Where nobody can be told, the exit code tells.
        drop(say(&format!("error: {error}")));
        ExitCode::FAILURE
    })
}

type Done = Result<ExitCode, Box<dyn Error>>;

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// Plays `n` seeds that nobody played before; the first is printed, the others follow it.
fn fresh(n: u64) -> Done {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let first = u64::try_from(since.as_millis())? * 1_000;
    say(&format!("seeds {first} to {}", first + n))?;
    seeds(first..first + n)
}

/// Plays seeds until one breaks a law.
fn seeds(seeds: impl IntoIterator<Item = u64>) -> Done {
    let mut n = 0_u64;
    for seed in seeds {
        let story = tell(seed);
        n += 1;
        if run(&story).broken.is_some() {
            say(&format!("seed {seed} breaks a law; its story is made short"))?;
            return show(&shrink(&story), true);
        }
    }
    say(&format!("{n} stories, no law broken"))?;
    Ok(ExitCode::SUCCESS)
}

fn replay(file: &Path) -> Done {
    let story = Story::read(&fs::read_to_string(file)?)?;
    show(&story, false)
}

/// Prints what happens in a story, and what broke; keeps the story where that is asked for.
fn show(story: &Story, keep: bool) -> Done {
    let outcome = run(story);
    if keep {
        let place = PathBuf::from("target/sim");
        fs::create_dir_all(&place)?;
        let file = place.join(format!("{}.story", story.seed));
        fs::write(&file, story.write())?;
        say(&story.write())?;
        say(&format!("cargo xtask replay {}", file.display()))?;
    } else {
        say(&outcome.trace)?;
    }
    if let Some(broken) = outcome.broken {
        say(&format!("{} broke at {} ms: {}", broken.law, broken.at, broken.why))?;
        return Ok(ExitCode::FAILURE);
    }
    say("no law broken")?;
    Ok(ExitCode::SUCCESS)
}
