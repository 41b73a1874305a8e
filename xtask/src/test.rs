//! `cargo xtask test`: the tests of the workspace in each build they mean something in.

use anyhow::Result;
use clap::Args;

use crate::build::Build;
use crate::features;
use crate::workspace::Workspace;

/// Unit and integration tests; the others are documentation, which one build has to run.
const TESTS: [&str; 2] = ["--lib", "--tests"];

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct TestArgs {
    /// Only the debug build with the default features
    #[arg(long)]
    debug: bool,
}

/// Runs all tests in debug (with documentation tests); those of the layers in release with every
/// feature, in debug with none and with every one, and optimised with counted atomics.
pub(crate) fn run(ws: &Workspace, args: &TestArgs) -> Result<()> {
    let plain = Build::plain(ws);
    plain.cargo(&["test", "--workspace"])?;
    if args.debug {
        return Ok(());
    }
    let layers = ws.layer_args();
    plain.cargo(
        &[
            &["test", "--release", "--all-features"],
            &layers[..],
            &TESTS,
        ]
        .concat(),
    )?;
    for layer in ws.layers() {
        for set in features::extremes(layer) {
            let args = [&["test", "-p", layer.name.as_str()], &TESTS[..]].concat();
            let args = [args, set.iter().map(String::as_str).collect()].concat();
            plain.cargo(&args)?;
        }
    }
    let counted = Build::special(ws, "count", "--cfg terrace_count");
    counted.cargo(&[&["test", "--release"], &layers[..], &TESTS].concat())
}
