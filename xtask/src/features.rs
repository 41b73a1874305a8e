//! `cargo xtask features`: each layer alone, with each combination of its features.

use anyhow::Result;
use cargo_metadata::Package;

use crate::build::{Build, words};
use crate::progress::run_all;
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
    let name = |(layer, set): &(&str, Vec<String>)| format!("{layer} [{}]", set.join(" "));
    run_all("features", &jobs, name, |(layer, set)| {
        let set = chosen(set);
        let set = set.iter().map(String::as_str);
        build.quiet_cargo(&words("check --quiet -p", [*layer].into_iter().chain(set)))?;
        Ok("builds".to_owned())
    })
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

/// Its features, in order.
fn names(layer: &Package) -> Vec<String> {
    let names = layer.features.keys().filter(|name| *name != "default");
    names.cloned().collect()
}

fn sets(names: &[String]) -> Vec<Vec<String>> {
    let subset = |bits: usize| {
        let all = names.iter().enumerate();
        let chosen = all.filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, name)| name.clone()).collect()
    };
    let all = (1_usize << names.len()) - 1;
    let is_built =
        |bits: &usize| names.len() <= EXHAUSTIVE || bits.count_ones() <= 1 || *bits == all;
    (0..=all).filter(is_built).map(subset).collect()
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
