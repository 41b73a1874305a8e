//! Imports run down: the files of a layer stand on floors, and no file imports one of a higher floor or one of its own
//! importers.
//!
//! The floors are written in `docs/architecture.md`, one fenced block a layer, the lowest floor first. A floor is a list of
//! files and folders of the layer's `src`, without `.rs`:
//!
//! ```text
//! floors executor
//! protocol
//! parts
//! executor thread_executor
//! ```
//!
//! A layer with floors has each of its files on one. In no layer files import each other in a circle. Drop-ins count as layers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Files, error};
use crate::source::{Named, Role, Source};

/// Where the floors are written.
const PAGE: &str = "docs/architecture.md";

/// Programs and tools for tests, which have no floors.
const NO_LAYERS: [&str; 3] = ["conformance", "soak", "testing"];

/// The drop-ins, which count as layers.
const DROP_INS: [&str; 3] = [
    "compat/async-executor",
    "compat/bevy_tasks",
    "compat/rayon-core",
];

/// One file of a layer, and the files of the same layer that it imports, each with a line.
struct File<'s> {
    source: &'s Source,
    /// Below `src`, without `.rs`.
    place: PathBuf,
    imports: BTreeMap<usize, usize>,
}

/// The files of a layer by their place in its module tree; the root has none.
type Modules = BTreeMap<Vec<String>, usize>;

pub(super) fn check(files: &Files, sources: &[Source]) -> Vec<String> {
    let page = files.get(Path::new(PAGE)).map_or("", String::as_str);
    let mut floors = read(page);
    let mut layers = BTreeMap::<&str, Vec<File<'_>>>::new();
    for source in sources {
        let path = source.path.to_str().unwrap_or_default();
        let path = path.strip_prefix("crates/").unwrap_or_default();
        let Some((layer, place)) = path.split_once("/src/") else {
            continue;
        };
        let place = Path::new(place).with_extension("");
        let is_layer = source.is_layer() && !NO_LAYERS.contains(&layer);
        if (is_layer || DROP_INS.contains(&layer)) && !place.ends_with("tests") {
            let imports = BTreeMap::new();
            let file = File {
                source,
                place,
                imports,
            };
            layers.entry(layer).or_default().push(file);
        }
    }
    let mut findings = Vec::new();
    for (layer, mut files) in layers {
        find_imports(&mut files);
        findings.extend(circle(&files));
        let floors = floors.remove(layer);
        findings.extend(floors.iter().flat_map(|floors| higher(&files, floors)));
    }
    let strange = floors.keys();
    findings.extend(strange.map(|layer| error(PAGE, 0, &format!("there is no layer `{layer}`"))));
    findings
}

/// The floors of each layer, the lowest first.
fn read(page: &str) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let mut floors = BTreeMap::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(layer) = line.strip_prefix("```floors ") {
            let body = lines.by_ref().take_while(|line| *line != "```");
            let body = body.map(|line| line.split_whitespace().collect());
            floors.insert(layer, body.collect());
        }
    }
    floors
}

fn find_imports(files: &mut [File<'_>]) {
    let places = files.iter().enumerate();
    let modules: Modules = places.map(|(at, file)| (module(&file.place), at)).collect();
    for (at, file) in files.iter_mut().enumerate() {
        let own = module(&file.place);
        for named in &file.source.names {
            if let Some(target) = target(named, &own, &modules).filter(|target| *target != at) {
                file.imports.entry(target).or_insert(named.line);
            }
        }
    }
}

fn module(place: &Path) -> Vec<String> {
    let parts = place.iter().map(|part| part.to_string_lossy().into_owned());
    let mut module: Vec<String> = parts.collect();
    if module == ["lib"] || place.ends_with("mod") {
        module.pop();
    }
    module
}

/// The file that a path leads to from the module `own`, if it is one of the crate. Modules of tests may name all.
fn target(named: &Named, own: &[String], modules: &Modules) -> Option<usize> {
    let is_import = matches!(named.role, Role::Import(_));
    // A word alone may be that of `pub(crate)`.
    if named.around.test || (named.path.len() == 1 && !is_import) {
        return None;
    }
    // No file is an inline module.
    let inline = std::iter::repeat_n(String::new(), named.around.modules);
    let mut at: Vec<String> = own.iter().cloned().chain(inline).collect();
    let mut rest = &named.path[..];
    match rest[0].as_str() {
        "crate" => at.clear(),
        "self" if is_import => {}
        "super" => {
            let up = rest
                .iter()
                .take_while(|segment| *segment == "super")
                .count();
            at.truncate(at.len().saturating_sub(up));
            rest = &rest[up - 1..];
        }
        // The import of a module beside this line; other paths that begin so are of other crates, or imported.
        first if is_import => {
            at.push(first.to_owned());
            modules.get(&at)?;
        }
        _ => return None,
    }
    for segment in &rest[1..] {
        at.push(segment.clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
    }
    modules.get(&at).copied()
}

/// Imports of a higher floor, and files without one.
fn higher(files: &[File<'_>], floors: &[Vec<&str>]) -> Vec<String> {
    let floor_of = |file: &File<'_>| {
        let on = |floor: &Vec<&str>| floor.iter().any(|at| file.place.starts_with(at));
        floors.iter().position(on)
    };
    let mut findings = Vec::new();
    for file in files {
        let Some(own) = floor_of(file) else {
            let what = format!("the file stands on no floor of {PAGE}");
            findings.push(error(&file.source.path, 0, &what));
            continue;
        };
        for (&target, &line) in &file.imports {
            if floor_of(&files[target]).is_some_and(|floor| floor > own) {
                let target = files[target].source.path.display();
                let what = format!("imports `{target}`, which stands on a higher floor");
                findings.push(error(&file.source.path, line, &what));
            }
        }
    }
    findings
}

/// Files that import each other, directly or by others.
fn circle(files: &[File<'_>]) -> Option<String> {
    let mut left: BTreeSet<usize> = (0..files.len()).collect();
    // A file that imports none of those left, or that none of them imports, is in no circle.
    loop {
        let imported = left.iter().flat_map(|file| files[*file].imports.keys());
        let imported: BTreeSet<usize> = imported.copied().collect();
        let imports = |file: &&usize| files[**file].imports.keys().any(|to| left.contains(to));
        let both: BTreeSet<usize> = left
            .intersection(&imported)
            .filter(imports)
            .copied()
            .collect();
        if both.len() == left.len() {
            break;
        }
        left = both;
    }
    let paths = left.iter().map(|file| files[*file].source.path.display());
    let names = paths.map(|path| path.to_string()).collect::<Vec<_>>();
    let what = format!("these files import each other: {}", names.join(", "));
    Some(error(names.first()?, 0, &what))
}
