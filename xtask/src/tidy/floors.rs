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
//! A layer with floors has each of its files on one. A layer without floors must have no circle of files, unless its name
//! stands in the block `floors-to-come`, which makes its circles warnings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::Source;
use super::use_tree;
use super::{Finding, Level};

/// Where the floors are written.
pub(super) const PAGE: &str = "docs/architecture.md";

/// The layers whose files are looked at.
const LAYERS: [&str; 9] = [
    "trace", "sync", "queue", "park", "local", "thread", "executor", "fork", "tasks",
];

/// A file's place in the module tree of its crate, as path segments; none for the root.
type Module = Vec<String>;

/// What the page says.
#[derive(Debug, Default)]
struct Floors {
    /// For each layer its floors, the lowest first.
    of: BTreeMap<String, Vec<Vec<String>>>,
    /// Layers whose circles are only warned of.
    to_come: BTreeSet<String>,
}

/// One file of a layer, and the files of the same layer that it imports, each with a line, counted from 1.
struct File<'s> {
    source: &'s Source,
    module: Module,
    imports: BTreeMap<usize, usize>,
}

pub(super) fn check(sources: &[Source], page: &str) -> Vec<Finding> {
    let floors = match read(page) {
        Ok(floors) => floors,
        Err(what) => return vec![Finding::error(PAGE, 0, what)],
    };
    let mut findings = Vec::new();
    for layer in LAYERS {
        let dir = Path::new("crates").join(layer).join("src");
        let files = graph(sources, &dir);
        match floors.of.get(layer) {
            Some(floors) => {
                findings.extend(higher(&files, &dir, floors));
                findings.extend(circles(&files, Level::Error));
            }
            None if floors.to_come.contains(layer) => {
                findings.extend(circles(&files, Level::Warning));
            }
            None => findings.extend(circles(&files, Level::Error)),
        }
    }
    findings
}

fn read(page: &str) -> Result<Floors, String> {
    let mut floors = Floors::default();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("```floors") else {
            continue;
        };
        let body: Vec<Vec<String>> = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        match head.trim() {
            "-to-come" => floors.to_come.extend(body.into_iter().flatten()),
            layer if LAYERS.contains(&layer) => {
                floors.of.insert(layer.to_owned(), body);
            }
            other => return Err(format!("floors of `{other}`, which is no layer")),
        }
    }
    Ok(floors)
}

/// The files of one crate, and which of them import which.
fn graph<'s>(sources: &'s [Source], dir: &Path) -> Vec<File<'s>> {
    let mut files: Vec<File<'s>> = sources
        .iter()
        .filter(|source| source.is_in(dir) && !is_test(&source.path))
        .map(|source| File {
            source,
            module: module_of(source.path.strip_prefix(dir).unwrap_or(&source.path)),
            imports: BTreeMap::new(),
        })
        .collect();
    let numbers: BTreeMap<Module, usize> = files
        .iter()
        .enumerate()
        .map(|(number, file)| (file.module.clone(), number))
        .collect();
    for (own, file) in files.iter_mut().enumerate() {
        for (line, path) in paths(file.source) {
            let target = resolve(&file.module, &path, &numbers);
            if let Some(target) = target.filter(|&target| target != own) {
                file.imports.entry(target).or_insert(line);
            }
        }
    }
    files
}

/// A module of tests in a file of its own.
fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests")
}

fn module_of(path: &Path) -> Module {
    let mut module: Module = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if matches!(module.last().map(String::as_str), Some("mod")) || module == ["lib"] {
        module.pop();
    }
    module
}

/// Every path of the file that leads to its own crate: imports, and paths in the code that start with `crate` or `super`. Each
/// with its line, counted from 1. Inline modules of tests are passed over.
fn paths(source: &Source) -> Vec<(usize, Vec<String>)> {
    let in_test = source.in_test_module();
    let depth = inline_depth(&source.code);
    let mut found = Vec::new();
    for import in use_tree::imports(&source.code) {
        if !in_test[import.line] {
            let path = leave_inline(import.path, depth[import.line]);
            found.extend(path.map(|path| (import.line + 1, path)));
        }
    }
    for (line, code) in source.code.iter().enumerate() {
        let is_import = code.trim_start().contains("use ");
        if in_test[line] || is_import {
            continue;
        }
        for start in ["crate::", "super::"] {
            for (at, _) in code.match_indices(start) {
                let before = code[..at].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                    continue;
                }
                let path = code[at..]
                    .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                    .next()
                    .unwrap_or_default();
                if code[..at].trim_end().ends_with("in") {
                    continue; // `pub(in path)`
                }
                let path = path.split("::").map(str::to_owned).collect();
                found.extend(leave_inline(path, depth[line]).map(|path| (line + 1, path)));
            }
        }
    }
    found
}

/// For each line how many inline modules it lies in.
fn inline_depth(code: &[String]) -> Vec<usize> {
    let mut open: Vec<i64> = Vec::new();
    let mut braces = 0;
    let mut depths = Vec::with_capacity(code.len());
    for line in code {
        depths.push(open.len());
        let words: Vec<&str> = line.split_whitespace().collect();
        let opens = words
            .iter()
            .position(|word| *word == "mod")
            .is_some_and(|at| at + 2 < words.len() + 1 && line.contains('{'));
        if opens {
            open.push(braces);
        }
        for c in line.chars() {
            match c {
                '{' => braces += 1,
                '}' => braces -= 1,
                _ => {}
            }
        }
        while open.last().is_some_and(|&outside| braces <= outside) {
            open.pop();
        }
    }
    depths
}

/// The path as the file's own module would write it; none if it does not leave the inline modules that it stands in.
fn leave_inline(mut path: Vec<String>, depth: usize) -> Option<Vec<String>> {
    for _ in 0..depth {
        match path.first().map(String::as_str) {
            Some("crate") => return Some(path),
            Some("super") => {
                path.remove(0);
            }
            _ => return None,
        }
    }
    Some(path)
}

/// The file that a path in `module` leads to, if it is one of the crate.
fn resolve(module: &[String], path: &[String], numbers: &BTreeMap<Module, usize>) -> Option<usize> {
    let mut full: Module;
    let mut rest = path;
    match path.first().map(String::as_str) {
        Some("crate") => {
            full = Vec::new();
            rest = &path[1..];
        }
        Some("self") => {
            full = module.to_vec();
            rest = &path[1..];
        }
        Some("super") => {
            full = module.to_vec();
            while let Some(("super", after)) = rest.split_first().map(|(f, r)| (f.as_str(), r)) {
                full.pop();
                rest = after;
            }
        }
        Some(first) => {
            full = module.to_vec();
            let mut child = full.clone();
            child.push(first.to_owned());
            if !numbers.contains_key(&child) {
                return None;
            }
        }
        None => return None,
    }
    for segment in rest {
        let mut deeper = full.clone();
        deeper.push(segment.clone());
        if !numbers.contains_key(&deeper) {
            break;
        }
        full = deeper;
    }
    numbers.get(&full).copied()
}

/// Imports of a higher floor, and files without one.
fn higher(files: &[File<'_>], dir: &Path, floors: &[Vec<String>]) -> Vec<Finding> {
    let floor_of = |file: &File<'_>| {
        let path = file.source.path.strip_prefix(dir).ok()?.with_extension("");
        let on = |floor: &Vec<String>| floor.iter().any(|place| path.starts_with(place));
        floors.iter().position(on)
    };
    let mut findings = Vec::new();
    for file in files {
        let path = &file.source.path;
        let Some(own) = floor_of(file) else {
            findings.push(Finding::error(
                path,
                0,
                format!("the file stands on no floor of {PAGE}"),
            ));
            continue;
        };
        for (&target, &line) in &file.imports {
            let target = &files[target];
            if floor_of(target).is_some_and(|floor| floor > own) {
                let what = format!(
                    "imports `{}`, which stands on a higher floor",
                    target.source.path.display()
                );
                findings.push(Finding::error(path, line, what));
            }
        }
    }
    findings
}

/// Files that import each other, directly or by others.
fn circles(files: &[File<'_>], level: Level) -> Vec<Finding> {
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| reach(files, from)).collect();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for (number, file) in files.iter().enumerate() {
        if !reached[number].contains(&number) || told.contains(&number) {
            continue;
        }
        let circle: Vec<usize> = (0..files.len())
            .filter(|&other| reached[number].contains(&other) && reached[other].contains(&number))
            .collect();
        let names: Vec<String> = circle
            .iter()
            .map(|&member| files[member].source.path.display().to_string())
            .collect();
        told.extend(circle);
        findings.push(Finding {
            level,
            ..Finding::error(
                &file.source.path,
                0,
                format!("these files import each other: {}", names.join(", ")),
            )
        });
    }
    findings
}

/// The files that `from` imports, and those that they do.
fn reach(files: &[File<'_>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<usize> = files[from].imports.keys().copied().collect();
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(files[next].imports.keys().copied());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::check;

    fn found(page: &str, files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(format!("crates/fork/src/{path}"), text))
            .collect();
        let findings = check(&sources, page);
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
        assert_eq!(found(PAGE, &files), Vec::<String>::new());
    }

    #[test]
    fn an_import_of_a_higher_floor_is_found_in_an_import_and_in_a_path() {
        for text in ["use crate::mid::A;\n", "fn f() { super::mid::g() }\n"] {
            let files = [("lib.rs", ""), ("mid.rs", ""), ("low.rs", text)];
            assert_eq!(
                found(PAGE, &files),
                [
                    "error: crates/fork/src/low.rs:1: imports `crates/fork/src/mid.rs`, which stands on a higher floor"
                ]
            );
        }
    }

    #[test]
    fn a_file_without_a_floor_is_found() {
        let files = [("lib.rs", ""), ("other.rs", "")];
        assert_eq!(found(PAGE, &files).len(), 1);
    }

    #[test]
    fn circles_are_found_on_one_floor_and_without_floors() {
        let files = [
            ("lib.rs", ""),
            ("mid/mod.rs", "pub(crate) use a::A;\n"),
            ("mid/a.rs", "use super::b::B;\n"),
            ("mid/b.rs", "use super::A;\n"),
        ];
        for page in [PAGE, ""] {
            assert_eq!(
                found(page, &files),
                [
                    "error: crates/fork/src/mid/mod.rs: these files import each other: crates/fork/src/mid/mod.rs, \
                  crates/fork/src/mid/a.rs, crates/fork/src/mid/b.rs"
                ]
            );
        }
        let later = found("```floors-to-come\nfork\n```\n", &files);
        assert!(later.len() == 1 && later[0].starts_with("warning: "));
    }

    #[test]
    fn tests_and_inline_modules_may_name_what_is_around_them() {
        let files = [
            ("lib.rs", ""),
            ("mid.rs", "mod inner {\n    use super::A;\n}\n"),
            (
                "low.rs",
                "#[cfg(test)]\nmod tests {\n    use crate::mid::A;\n}\n",
            ),
        ];
        assert_eq!(found(PAGE, &files), Vec::<String>::new());
    }

    #[test]
    fn floors_of_no_layer_are_refused() {
        assert_eq!(found("```floors cellar\na\n```\n", &[]).len(), 1);
    }
}
