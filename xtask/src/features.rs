//! `cargo xtask features`: each layer alone, with each combination of its features.

use anyhow::Result;
use cargo_metadata::Package;

use crate::build::Build;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Up to this many features every subset is built; from there on each one alone, none and all.
const EXHAUSTIVE: usize = 4;

/// The arguments for cargo that choose these features alone.
fn chosen(features: &[String]) -> Vec<String> {
    let mut args = vec!["--no-default-features".to_owned()];
    if !features.is_empty() {
        args.extend(["--features".to_owned(), features.join(",")]);
    }
    args
}

/// Checks each layer with each set.
pub(crate) fn run(ws: &Workspace) -> Result<()> {
    let build = Build::plain(ws);
    let mut jobs = Vec::new();
    for layer in ws.layers() {
        let sets = sets(&names(layer)).into_iter();
        jobs.extend(sets.map(|set| (layer.name.as_str(), set)));
    }
    let progress = Progress::new("features", jobs.len());
    for (layer, set) in &jobs {
        progress.at(&format!("{layer} [{}]", set.join(" ")));
        let mut args = vec!["check", "--quiet", "-p", layer];
        let set = chosen(set);
        args.extend(set.iter().map(String::as_str));
        build.quiet_cargo(&args)?;
        progress.step();
    }
    progress.finish();
    println!("features: {} builds passed", jobs.len());
    Ok(())
}

/// The arguments for as few features as its tests can do with and for every feature, of a layer that has any. Tests need `std` where there is
/// such a feature; what does without is tested by `cargo xtask no-std`.
pub(crate) fn extremes(layer: &Package) -> Vec<Vec<String>> {
    let names = names(layer);
    let mut least = names.clone();
    least.retain(|name| name == "std");
    match names.is_empty() {
        true => Vec::new(),
        false => vec![chosen(&least), chosen(&names)],
    }
}

fn names(layer: &Package) -> Vec<String> {
    let mut names: Vec<String> = layer.features.keys().cloned().collect();
    names.retain(|n| n != "default");
    names.sort_unstable();
    names
}

fn sets(names: &[String]) -> Vec<Vec<String>> {
    if names.len() <= EXHAUSTIVE {
        let subset = |bits: usize| {
            let chosen = names
                .iter()
                .enumerate()
                .filter(|(at, _)| bits >> at & 1 == 1);
            chosen.map(|(_, name)| name.clone()).collect()
        };
        return (0..1 << names.len()).map(subset).collect();
    }
    let mut sets = vec![Vec::new()];
    sets.extend(names.iter().map(|name| vec![name.clone()]));
    sets.push(names.to_vec());
    sets
}

#[cfg(test)]
mod tests {
    use super::{EXHAUSTIVE, chosen, sets};

    #[test]
    fn few_features_give_every_subset_and_many_none_each_and_all() {
        let sets = |n: usize| sets(&(0..n).map(|i| format!("f{i}")).collect::<Vec<_>>());
        assert_eq!(sets(0), [Vec::<String>::new()]);
        assert_eq!(sets(3).len(), 8);
        let args = ["--no-default-features", "--features", "f0,f2"];
        assert_eq!(chosen(&sets(3)[5]), args);
        assert_eq!(chosen(&sets(3)[0]), args[..1]);
        let n = EXHAUSTIVE + 1;
        assert_eq!(sets(n).len(), n + 2);
        assert_eq!(chosen(&sets(n)[n + 1])[2], "f0,f1,f2,f3,f4");
    }
}
