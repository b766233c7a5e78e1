//! `levelhead` alone: what there is in this directory, and what to do next.

use std::path::{Path, PathBuf};

use driver::{
    Offline, config,
    view::{RunState, RunView},
};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome},
    global::Global,
    out, status,
};
use driver::config::Catalogue;

/// The file that verbs mean when none is named.
const FILE: &str = "cluster.toml";

/// Says what to do next. It changes nothing, and what is wrong here is an answer, not a failure.
pub(crate) fn run(global: &Global, catalogue: &Catalogue) -> Outcome {
    out::line("levelhead keeps a fleet of nodes at the shape that you declared.");
    let file =
        std::env::var_os("LEVELHEAD_FILE").map_or_else(|| PathBuf::from(FILE), PathBuf::from);
    let (here, next) = look(global, catalogue, &file)?;
    out::line(here);
    out::line(format!("next: {next}; `levelhead --help` lists everything"));
    Ok(Exit::Done)
}

/// What there is, and the command that leads on.
fn look(global: &Global, catalogue: &Catalogue, file: &Path) -> Result<(String, String), Failure> {
    let shown = file.display();
    if !file.exists() && global.driver.attach.is_none() {
        let next = "`levelhead init` writes a starter file".to_owned();
        return Ok((format!("there is no {shown} here"), next));
    }
    if global.driver.attach.is_none()
        && let Err(error) = config::load(file, catalogue)
    {
        let next = "`levelhead validate` names each place".to_owned();
        return Ok((format!("{shown} is not valid: {error}"), next));
    }
    let context = Context::open(global, catalogue, file)?;
    if !context.is_driven()? && Offline::open(&context.paths)?.is_blank() {
        let run = &context.loaded.shape.run;
        let (plan, up) = (context.command("plan"), context.command("up"));
        let next = format!("`{plan}` shows what would be done, `{up}` does it");
        return Ok((
            format!("{shown} declares the run `{run}`, and nothing of it is there yet"),
            next,
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal("cannot start the runtime", &error))?;
    let view = runtime.block_on(status::view(&context))?;
    let next = next(&context, &view);
    let RunView { run, ready, want, .. } = view.as_ref();
    Ok((format!("the run `{run}` has {ready} of {want} nodes ready"), next))
}

fn next(context: &Context, view: &RunView) -> String {
    let command = |words| context.command(words);
    match view.state {
        RunState::Converged => format!("`{}` watches and edits it", command("console")),
        RunState::Converging => format!("`{}` waits for the rest", command("wait")),
        RunState::Held => {
            let way = view.outstanding.iter().find_map(|one| one.way_out.clone());
            let way = way.unwrap_or_else(|| command("status"));
            format!("nothing moves before a person acts: `{way}`")
        }
        RunState::Unattended if view.nodes.is_empty() && view.want == 0 => {
            format!("`{}` shows what would be done", command("plan"))
        }
        RunState::Unattended => format!("nobody keeps it: `{}` does", command("driver")),
    }
}
