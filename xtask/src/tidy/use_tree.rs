//! The imports of a file: every `use` declaration, its braces expanded.

/// One imported path and the name it gets.
#[derive(Debug, PartialEq)]
pub(super) struct Import {
    /// From 0.
    pub(super) line: usize,
    /// For example `["std", "sync", "atomic", "AtomicBool"]`; a glob ends in `*`.
    pub(super) path: Vec<String>,
    /// The name in this file.
    pub(super) name: String,
}

/// Expands the `use` declarations of code without comments and strings.
pub(super) fn imports(code: &[String]) -> Vec<Import> {
    let text = code.join("\n");
    let mut found = Vec::new();
    for (at, keyword) in text.match_indices("use ") {
        let before = text[..at].trim_end();
        let opens = before.is_empty()
            || before.ends_with([';', '{', '}', ']', ')'])
            || before.ends_with("pub");
        let own_word = at == 0 || text[..at].ends_with(char::is_whitespace);
        let Some(end) = text[at..].find(';') else {
            continue;
        };
        if opens && own_word {
            let line = text[..at].matches('\n').count();
            expand(&text[at + keyword.len()..at + end], line, &[], &mut found);
        }
    }
    found
}

fn expand(tree: &str, line: usize, prefix: &[String], found: &mut Vec<Import>) {
    let tree = tree.trim().trim_start_matches("::");
    if tree.is_empty() {
        return;
    }
    let (path, braces) = match tree.split_once('{') {
        Some((path, rest)) => (
            path,
            Some(rest.rsplit_once('}').map_or(rest, |(in_, _)| in_)),
        ),
        None => (tree, None),
    };
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (path, None),
    };
    let mut full = prefix.to_vec();
    let segments = path.split("::").map(str::trim).filter(|s| !s.is_empty());
    full.extend(segments.map(str::to_owned));
    if let Some(braces) = braces {
        for part in split_commas(braces) {
            expand(part, line, &full, found);
        }
        return;
    }
    if full.last().is_some_and(|s| s == "self") {
        full.pop();
    }
    let Some(last) = full.last() else { return };
    let name = alias.unwrap_or_else(|| last.clone());
    found.push(Import {
        line,
        path: full,
        name,
    });
}

/// Splits at the commas that are in no inner braces.
fn split_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::imports;

    fn paths(text: &str) -> Vec<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        imports(&lines)
            .iter()
            .map(|i| format!("{} as {}", i.path.join("::"), i.name))
            .collect()
    }

    #[test]
    fn braces_expand() {
        let text =
            "pub use std::{\n    sync::{atomic::{self, AtomicBool}, Arc},\n    thread as t,\n};\n";
        let wanted = [
            "std::sync::atomic as atomic",
            "std::sync::atomic::AtomicBool as AtomicBool",
            "std::sync::Arc as Arc",
            "std::thread as t",
        ];
        assert_eq!(paths(text), wanted);
    }

    #[test]
    fn globs_visibilities_and_attributes() {
        let text = "#[cfg(x)] use a::b::*;\npub(crate) use ::c::d;\nfn f() { use e::g; }\n";
        assert_eq!(paths(text), ["a::b::* as *", "c::d as d", "e::g as g"]);
    }

    #[test]
    fn other_words_are_no_imports() {
        assert!(paths("let reuse = because;\nfn f() -> impl Sized + use<> {}\n").is_empty());
    }
}
