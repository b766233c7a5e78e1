//! `cargo xtask ci`: every check, in order, stopping at the first red one.
//!
//! The cheap checks come first, so that most mistakes are told within seconds.

use crate::shell::{Plain, Shell};
use crate::{counts, deps, sim, test, tidy};
use anyhow::{Context, Result};
use std::path::Path;

/// The target that has no operating system: what builds for it cannot read a clock or a file.
const BARE_TARGET: &str = "x86_64-unknown-none";
/// The target whose programs need no library: what agents in containers are made for.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// Runs all checks.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    tell("cargo xtask tidy")?;
    tidy::run(shell)?;
    tell("cargo xtask deps")?;
    deps::run(shell)?;
    for plain in compiler_checks() {
        shell.run(&plain)?;
    }
    where_installed(shell, BARE_TARGET, &["-p", "reconciler-core"])?;
    where_installed(shell, STATIC_TARGET, &[])?;
    tell("cargo xtask test")?;
    test::run(shell, &[])?;
    shell.run(&sim::tests(test::has_nextest(shell)?))?;
    tell("cargo xtask bench core --counts")?;
    counts::run(shell, Some(counts::BENCH), false)
}

fn tell(verb: &str) -> Result<()> {
    Shell::say(&format!("# {verb}"))
}

fn compiler_checks() -> [Plain; 3] {
    let clippy = ["--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    let clippy: Vec<String> = clippy.iter().map(ToString::to_string).collect();
    [
        Plain::new(&["cargo", "fmt", "--all", "--check"]),
        Plain::new(&["cargo", "clippy"]).and(&clippy),
        Plain::new(&["cargo", "doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    ]
}

/// Builds for `target` where that is installed: core without an operating system, and the program without a library,
/// which tests of agents in containers use afterwards.
fn where_installed(shell: &Shell, target: &str, what: &[&str]) -> Result<()> {
    let sysroot = shell.read(&Plain::new(&["rustc", "--print", "sysroot"]))?;
    let what: Vec<String> = what.iter().map(ToString::to_string).collect();
    let build = Plain::new(&["cargo", "build", "--target", target]).and(&what);
    let standard = Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib");
    if standard.try_exists().context("could not look into the sysroot")? {
        shell.run(&build)
    } else {
        Shell::say(&format!("skipped: `{build}`, the target {target} is not installed"))
    }
}

#[cfg(test)]
mod tests {
    use super::compiler_checks;

    #[test]
    fn the_compiler_checks_are_plain_commands_in_order() {
        let said: Vec<String> = compiler_checks().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "cargo fmt --all --check",
                "cargo clippy --workspace --all-targets --all-features -- -D warnings",
                "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps",
            ]
        );
    }
}
