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
//! A layer with floors has each of its files on one. In no layer files import each other in a circle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::Finding;
use crate::source::{Named, Role, Source};

/// Where the floors are written.
pub(super) const PAGE: &str = "docs/architecture.md";

/// The layers whose files are looked at.
const LAYERS: [&str; 9] = [
    "trace", "sync", "queue", "park", "local", "thread", "executor", "fork", "tasks",
];

/// The floors of a layer, the lowest first.
type Floors<'p> = Vec<Vec<&'p str>>;

/// One file of a layer, and the files of the same layer that it imports, each with a line.
struct File<'s> {
    source: &'s Source,
    /// Below `src`, without `.rs`.
    place: &'s Path,
    imports: BTreeMap<usize, usize>,
}

pub(super) fn check(sources: &[Source], page: &str) -> Vec<Finding> {
    let floors = match read(page) {
        Ok(floors) => floors,
        Err(what) => return vec![Finding::error(PAGE, 0, what)],
    };
    let mut findings = Vec::new();
    for layer in LAYERS {
        let files = graph(sources, &Path::new("crates").join(layer).join("src"));
        let floors = floors.get(layer).into_iter();
        findings.extend(floors.flat_map(|floors| higher(&files, floors)));
        findings.extend(circles(&files));
    }
    findings
}

fn read(page: &str) -> Result<HashMap<&str, Floors<'_>>, String> {
    let mut floors = HashMap::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(layer) = line.strip_prefix("```floors ") else {
            continue;
        };
        if !LAYERS.contains(&layer) {
            return Err(format!("floors of `{layer}`, which is no layer"));
        }
        let body = lines.by_ref().take_while(|line| *line != "```");
        let body = body.map(|line| line.split_whitespace().collect());
        floors.insert(layer, body.collect());
    }
    Ok(floors)
}

/// The files of one crate, and which of them import which.
fn graph<'s>(sources: &'s [Source], dir: &Path) -> Vec<File<'s>> {
    let of_crate = sources.iter().filter_map(|source| {
        let place = source.path.strip_prefix(dir).ok()?;
        let is_test = place.file_stem().is_some_and(|stem| stem == "tests");
        (!is_test).then_some(File {
            source,
            place,
            imports: BTreeMap::new(),
        })
    });
    let mut files: Vec<File<'_>> = of_crate.collect();
    let modules: Vec<Vec<String>> = files.iter().map(|file| module(file.place)).collect();
    for (own, file) in files.iter_mut().enumerate() {
        for named in &file.source.names {
            let target = target(named, &modules[own], &modules);
            if let Some(target) = target.filter(|target| *target != own) {
                file.imports.entry(target).or_insert(named.line);
            }
        }
    }
    files
}

/// A file's place in the module tree of its crate, as path segments; none for the root.
fn module(place: &Path) -> Vec<String> {
    let place = place.with_extension("");
    let parts = place.iter().map(|part| part.to_string_lossy().into_owned());
    let mut module: Vec<String> = parts.collect();
    if module == ["lib"] || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// The file that a path leads to from the file of the module `own`, if it is one of the crate. Modules of tests may name all.
fn target(named: &Named, own: &[String], modules: &[Vec<String>]) -> Option<usize> {
    let is_import = matches!(named.role, Role::Import(_));
    // A word alone may be that of `pub(crate)`.
    if named.around.test || (named.path.len() == 1 && !is_import) {
        return None;
    }
    let mut rest = &named.path[..];
    let mut inline = named.around.modules;
    let mut full = own.to_vec();
    match rest[0].as_str() {
        "crate" => {
            rest = &rest[1..];
            full.clear();
            inline = 0;
        }
        "self" if inline == 0 && is_import => rest = &rest[1..],
        "super" => {
            let up = rest.iter().take_while(|segment| *segment == "super");
            let up = up.count();
            rest = &rest[up..];
            full.truncate(full.len() - up.saturating_sub(inline).min(full.len()));
            inline = inline.saturating_sub(up);
        }
        // The import of a module beside this line; other paths that begin so are of other crates, or imported.
        _ if is_import => {
            if !modules.contains(&[&full[..], &rest[..1]].concat()) {
                return None;
            }
        }
        _ => return None,
    }
    if inline > 0 {
        return None;
    }
    for segment in rest {
        full.push(segment.clone());
        if !modules.contains(&full) {
            full.pop();
            break;
        }
    }
    modules.iter().position(|module| *module == full)
}

/// Imports of a higher floor, and files without one.
fn higher(files: &[File<'_>], floors: &Floors<'_>) -> Vec<Finding> {
    let floor_of = |file: &File<'_>| {
        let place = file.place.with_extension("");
        let on = |floor: &Vec<&str>| floor.iter().any(|at| place.starts_with(at));
        floors.iter().position(on)
    };
    let mut findings = Vec::new();
    for file in files {
        let Some(own) = floor_of(file) else {
            let what = format!("the file stands on no floor of {PAGE}");
            findings.push(Finding::error(&file.source.path, 0, what));
            continue;
        };
        for (&target, &line) in &file.imports {
            if floor_of(&files[target]).is_some_and(|floor| floor > own) {
                let target = files[target].source.path.display();
                let what = format!("imports `{target}`, which stands on a higher floor");
                findings.push(Finding::error(&file.source.path, line, what));
            }
        }
    }
    findings
}

/// Files that import each other, directly or by others.
fn circles(files: &[File<'_>]) -> Vec<Finding> {
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| reach(files, from)).collect();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for number in 0..files.len() {
        let mutual =
            |other: &usize| reached[number].contains(other) && reached[*other].contains(&number);
        let circle: Vec<usize> = (0..files.len()).filter(mutual).collect();
        if circle.is_empty() || !told.insert(circle.clone()) {
            continue;
        }
        let names = circle
            .iter()
            .map(|&member| files[member].source.path.display().to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let what = format!("these files import each other: {names}");
        findings.push(Finding::error(&files[number].source.path, 0, what));
    }
    findings
}

/// The files that `from` imports, and those that they do.
fn reach(files: &[File<'_>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(next) = left.pop() {
        let imports = files[next].imports.keys().copied();
        left.extend(imports.filter(|&import| reached.insert(import)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source::Source;

    fn found(page: &str, files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(path, text)| {
            Source::new(format!("crates/fork/src/{path}"), text).expect("it is Rust")
        });
        let findings = check(&sources.collect::<Vec<_>>(), page);
        findings.iter().map(ToString::to_string).collect()
    }

    const PAGE: &str = "# A page\n\n```floors fork\nlow\nmid\nlib\n```\n";

    #[test]
    fn imports_run_down() {
        let files = [
            ("lib.rs", "mod low; mod mid;\npub use crate::mid::a::A;\n"),
            ("mid/mod.rs", "mod a;\nmod b;\n"),
            ("mid/a.rs", "use super::b::B;\nuse crate::low::{self, L};\n"),
            ("mid/b.rs", "fn f() { crate::low::g() }\n"),
            ("low.rs", "use std::mem;\n"),
        ];
        assert_eq!(found(PAGE, &files), [""; 0]);
    }

    #[test]
    fn an_import_of_a_higher_floor_is_found_in_an_import_and_in_a_path() {
        for text in ["use crate::mid::A;\n", "fn f() { x!(super::mid::g()) }\n"] {
            let wanted = "error: crates/fork/src/low.rs:1: imports `crates/fork/src/mid.rs`, which stands on a higher floor";
            let files = [("lib.rs", ""), ("mid.rs", ""), ("low.rs", text)];
            assert_eq!(found(PAGE, &files), [wanted]);
        }
    }

    #[test]
    fn files_without_a_floor_and_floors_of_no_layer_are_found() {
        let files = [("lib.rs", ""), ("other.rs", "")];
        assert_eq!(found(PAGE, &files).len(), 1);
        assert_eq!(found("```floors cellar\na\n```\n", &[]).len(), 1);
    }

    #[test]
    fn circles_are_found_on_one_floor_and_without_floors() {
        let files = [
            ("lib.rs", ""),
            ("mid/mod.rs", "pub(crate) use a::A;\n"),
            ("mid/a.rs", "use super::b::B;\n"),
            ("mid/b.rs", "use super::A;\n"),
        ];
        let wanted = "error: crates/fork/src/mid/mod.rs: these files import each other: crates/fork/src/mid/mod.rs, \
                      crates/fork/src/mid/a.rs, crates/fork/src/mid/b.rs";
        for page in [PAGE, ""] {
            assert_eq!(found(page, &files), [wanted]);
        }
    }

    #[test]
    fn tests_and_inline_modules_may_name_what_is_around_them() {
        let test = "#[cfg(test)]\nmod tests {\n    use crate::mid::A;\n}\n";
        let files = [
            ("lib.rs", ""),
            ("mid.rs", "mod inner {\n    use super::A;\n}\n"),
            ("low.rs", test),
        ];
        assert_eq!(found(PAGE, &files), [""; 0]);
    }
}
