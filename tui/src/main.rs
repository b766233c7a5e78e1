//! The binary: the one place where providers are named, and the way into the command line.

use std::{process::ExitCode, sync::Arc};

use driver::config::Catalogue;
use executor::provider::{exec::ExecFactory, process::ProcessFactory};

fn main() -> ExitCode {
    let catalogue = Catalogue::new([
        Arc::new(ProcessFactory) as Arc<dyn executor::seam::ProviderFactory>,
        Arc::new(ExecFactory),
        #[cfg(feature = "docker")]
        Arc::new(executor::provider::docker::DockerFactory),
    ]);
    tui::cli::main(&catalogue)
}
