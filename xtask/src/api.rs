//! `cargo xtask api`: what each layer offers, compared with the lists in `docs/api`, and whether examples show it.
//!
//! rustdoc describes the layers, and `public-api` reads that. The description has a version of its own, which comes with that of
//! the compiler: where another compiler is in use, rustup is asked for the one that is understood.

mod examples;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use public_api::PublicItem;

use crate::build::{Build, words};
use crate::package::published;
use crate::process::{program, said};
use crate::workspace::Workspace;

/// The compiler whose description `public-api`, in the version of this package's manifest, understands.
const COMPILER: &str = "1.95.0";

/// Where the lists lie, one for each layer.
const LISTS: &str = "docs/api";

/// Items marked `#[doc(hidden)]` are left out.
const RUSTDOCFLAGS: &str = "-Zunstable-options --output-format=json --cap-lints=allow";

#[derive(Args)]
pub(crate) struct ApiArgs {
    /// Write the lists instead of comparing with them
    #[arg(long)]
    write: bool,
}

/// Writes or compares the lists of all layers, with all their features, and looks for their examples.
pub(crate) fn run(ws: &Workspace, args: &ApiArgs) -> Result<()> {
    let layers: Vec<&str> = published(ws).iter().map(|l| l.name.as_str()).collect();
    let build = Build::special(ws, "api", "");
    let line = "doc --no-deps --all-features";
    let described = describe(build, line, &layers, AutoTraits::Omitted)?;
    let (mut changed, mut bare) = (Vec::new(), Vec::new());
    for (layer, described) in layers.iter().zip(described) {
        let items = described.items;
        bare.extend(described.bare);
        let list = ws.root.join(LISTS).join(layer).with_extension("txt");
        if args.write {
            fs_err::write(&list, &items)?;
            continue;
        }
        let listed = fs_err::read_to_string(&list).unwrap_or_default();
        let difference = difference(&listed, &items);
        if !difference.is_empty() {
            println!("{layer}:\n{}", difference.join("\n"));
            changed.push(*layer);
        }
    }
    ensure!(
        changed.is_empty(),
        "{} differ from their lists in {LISTS}; if that is meant, say so in CHANGELOG.md and run `cargo xtask api --write`",
        changed.join(", ")
    );
    ensure!(
        bare.is_empty(),
        "{} public items have no example, nor a sentence like \"[`name`] has an example\":\n{}",
        bare.len(),
        bare.join("\n")
    );
    println!("api: {} layers", layers.len());
    Ok(())
}

/// The public items of a package.
pub(crate) struct Described {
    /// One a line, sorted. The methods of a trait are listed with the trait alone, not with each `impl` of it.
    pub(crate) items: String,
    /// Those without an example.
    bare: Vec<String>,
}

/// Has rustdoc describe packages by the command `cargo LINE`.
pub(crate) fn describe(
    build: Build,
    line: &str,
    packages: &[&str],
    auto: AutoTraits,
) -> Result<Vec<Described>> {
    let mut build = build
        .env("RUSTDOCFLAGS", RUSTDOCFLAGS)
        // The output as JSON is not stable yet.
        .env("RUSTC_BOOTSTRAP", "1");
    if !said(program("rustc --version"))?.starts_with(&format!("rustc {COMPILER} ")) {
        build = build.env("RUSTUP_TOOLCHAIN", COMPILER);
    }
    let names = packages.iter().flat_map(|package| ["-p", package]);
    let described = build.cargo(&words(line, names));
    described.with_context(|| {
        format!("this needs the compiler {COMPILER}, the one in use or one that rustup can fetch")
    })?;
    let description = |package: &&str| {
        let file = build.target().join("doc").join(package.replace('-', "_"));
        items(&file.with_extension("json"), auto)
    };
    packages.iter().map(description).collect()
}

/// Whether a list has the auto traits of each type: `Send`, `Unpin` and others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AutoTraits {
    Listed,
    Omitted,
}

/// The public items in a description.
fn items(description: &Path, auto: AutoTraits) -> Result<Described> {
    let api = public_api::Builder::from_rustdoc_json(description)
        .sorted(true)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(auto == AutoTraits::Omitted)
        .build()
        .with_context(|| format!("cannot read {}", description.display()))?;
    let implements = |item: &&PublicItem| {
        let text = item.to_string();
        text.starts_with("impl") && text.contains(" for ")
    };
    let of_traits: HashSet<_> = api.items().filter(implements).map(|i| i.id()).collect();
    let is_of_trait =
        |item: &PublicItem| item.parent_id().is_some_and(|id| of_traits.contains(&id));
    let repeated = |item: &&PublicItem| is_of_trait(item) && item.to_string().starts_with("pub fn");
    let kept = api.items().filter(|item| !repeated(item));
    let mut lines: Vec<String> = kept.map(|item| format!("{item}\n")).collect();
    lines.dedup();
    let declared = api.items().filter(|item| !is_of_trait(item));
    Ok(Described {
        items: lines.concat(),
        bare: examples::missing(description, declared)?,
    })
}

/// The lines that only one of the two has, marked.
pub(crate) fn difference(listed: &str, found: &str) -> Vec<String> {
    let [listed, found] = [listed, found].map(|text| text.lines().collect::<BTreeSet<_>>());
    let gone = listed.difference(&found).map(|line| format!("- {line}"));
    let new = found.difference(&listed).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn lines_of_one_side_are_told() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert!(difference("a\n", "a\n").is_empty());
    }
}
