//! A Rust source file as the rules look at it: its text, and what its tokens name.
//!
//! Tokens tell code from comments and strings, and they are there inside macros too, which no parser of items reads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, TokenStream, TokenTree};

/// One file.
#[derive(Default)]
pub(super) struct Source {
    /// Relative to the root of the workspace.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Every word of the code.
    pub(super) words: BTreeSet<String>,
    /// Every path of two segments or more, every import, and the macro `thread_local!`.
    pub(super) paths: Vec<Named>,
    /// The names in `terrace_weaken = "NAME"`.
    pub(super) weakened: Vec<(usize, String)>,
    /// The macros that put their argument into that cfg.
    pub(super) weakening: Vec<String>,
    /// Uses of macros that begin with a string: line, macro, string.
    pub(super) calls: Vec<(usize, String, String)>,
}

/// A path in the code.
pub(super) struct Named {
    /// Counted from 1.
    pub(super) line: usize,
    /// For example `["std", "sync", "atomic", "AtomicBool"]`; a glob ends in `*`.
    pub(super) path: Vec<String>,
    /// The name that an import gives it; nothing for a path that is used where it stands.
    pub(super) name: Option<String>,
    pub(super) around: Around,
}

/// The inline modules around a path.
#[derive(Clone, Copy, Default)]
pub(super) struct Around {
    pub(super) modules: usize,
    /// One of them is `#[cfg(test)]`.
    pub(super) test: bool,
}

impl Source {
    pub(super) fn new(path: impl Into<PathBuf>, text: &str) -> Result<Self, String> {
        let tokens: TokenStream = text.parse().map_err(|e| format!("is no Rust: {e}"))?;
        let mut source = Self {
            path: path.into(),
            text: text.to_owned(),
            ..Self::default()
        };
        source.read(tokens, Around::default());
        Ok(source)
    }

    /// Whether the file lies in a `tests`, `examples` or `benches` directory.
    pub(super) fn is_test_file(&self) -> bool {
        let dirs = ["tests", "examples", "benches"];
        let mut parts = self.path.components();
        parts.any(|part| dirs.iter().any(|dir| part.as_os_str() == *dir))
    }

    /// Whether the file belongs to the package in `dir`.
    pub(super) fn is_in(&self, dir: impl AsRef<Path>) -> bool {
        self.path.starts_with(dir)
    }

    /// Whether it is code of a layer, or of a package that is built as one.
    pub(super) fn is_layer(&self) -> bool {
        let excluded = ["crates/compat", "crates/firmware"];
        self.is_in("crates") && !excluded.iter().any(|dir| self.is_in(dir)) && !self.is_test_file()
    }

    fn read(&mut self, stream: TokenStream, around: Around) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        // `#[cfg(test)]` stands before what comes next.
        let mut test = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let before = at.checked_sub(2).map(|before| &tokens[before]);
            match token {
                TokenTree::Group(group) => {
                    test |= group.stream().to_string().replace(' ', "") == "cfg(test)";
                    self.read(group.stream(), around);
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let Some(TokenTree::Group(body)) = tokens.get(at + 1) {
                        let modules = around.modules + 1;
                        let test = around.test || std::mem::take(&mut test);
                        self.read(body.stream(), Around { modules, test });
                        at += 2;
                    }
                }
                TokenTree::Ident(word) if word == "use" && !is(tokens.get(at), '<') => {
                    let rest = &tokens[at..];
                    let end = rest.iter().position(|token| is(Some(token), ';'));
                    let tree = &rest[..end.unwrap_or(rest.len())];
                    self.import(tree, &[], around);
                    at += tree.len();
                }
                // `pub(in PATH)` takes nothing from there.
                TokenTree::Ident(word) if word == "in" && before.is_none() => return,
                TokenTree::Ident(word) => {
                    test &= word == "pub";
                    // A macro's `$crate` is for its users.
                    let own = !is(before, '$');
                    at = self.path(word, &tokens, at, own.then_some(around));
                }
                _ => {}
            }
        }
    }

    /// Reads the path that begins with `first`, whose rest stands at `at`; where it ends.
    fn path(
        &mut self,
        first: &Ident,
        tokens: &[TokenTree],
        mut at: usize,
        around: Option<Around>,
    ) -> usize {
        let line = first.span().start().line;
        let mut path = vec![first.to_string()];
        while let [colon, second, TokenTree::Ident(segment), ..] = &tokens[at..]
            && is(Some(colon), ':')
            && is(Some(second), ':')
        {
            path.push(segment.to_string());
            at += 3;
        }
        self.words.extend(path.iter().cloned());
        let last = &path[path.len() - 1];
        match &tokens[at..] {
            [mark, TokenTree::Ident(name), TokenTree::Group(body), ..]
                if last == "macro_rules" && is(Some(mark), '!') =>
            {
                if body.stream().to_string().contains("terrace_weaken = $") {
                    self.weakening.push(name.to_string());
                }
            }
            [mark, TokenTree::Group(args), ..] if is(Some(mark), '!') => {
                if let Some(text) = string(args.stream().into_iter().next().as_ref()) {
                    self.calls.push((line, last.clone(), text));
                }
            }
            [mark, value, ..] if last == "terrace_weaken" && is(Some(mark), '=') => {
                self.weakened
                    .extend(string(Some(value)).map(|name| (line, name)));
            }
            _ => {}
        }
        let is_macro = last == "thread_local" && is(tokens.get(at), '!');
        if let Some(around) = around.filter(|_| path.len() > 1 || is_macro) {
            self.paths.push(Named {
                line,
                path,
                name: None,
                around,
            });
        }
        at
    }

    /// Reads the tree of a `use`.
    fn import(&mut self, tree: &[TokenTree], prefix: &[String], around: Around) {
        for part in tree.split(|token| is(Some(token), ',')) {
            let mut path = prefix.to_vec();
            let mut name = None;
            let mut words = part.iter();
            let mut is_leaf = !part.is_empty();
            while let Some(token) = words.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        name = words.next().map(TokenTree::to_string);
                    }
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        is_leaf = false;
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.import(&inner, &path, around);
                    }
                    token if is(Some(token), '*') => path.push("*".to_owned()),
                    _ => {}
                }
            }
            self.words.extend(path.iter().cloned());
            if path.len() > 1 {
                path.pop_if(|last| last == "self");
            }
            if let Some(last) = path.last().cloned().filter(|_| is_leaf) {
                self.paths.push(Named {
                    line: part[0].span().start().line,
                    path,
                    name: Some(name.unwrap_or(last)),
                    around,
                });
            }
        }
    }
}

fn is(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// What a string literal says.
fn string(token: Option<&TokenTree>) -> Option<String> {
    let text = token?.to_string();
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn paths(text: &str) -> Vec<String> {
        let source = Source::new("a.rs", text).expect("it is Rust");
        let shown = source.paths.iter().map(|named| {
            let path = named.path.join("::");
            let name = named.name.as_ref();
            let name = name.map_or(String::new(), |name| format!(" as {name}"));
            let test = if named.around.test { " in a test" } else { "" };
            format!("{}: {path}{name}{test}", named.line)
        });
        shown.collect()
    }

    #[test]
    fn imports_are_expanded() {
        let text = "pub use std::{\n    sync::{atomic::{self, AtomicBool}, Arc},\n    thread as t,\n};\n\
                    #[cfg(x)] use a::b::*;\npub(crate) use ::c::d;\nfn f() { use e::g; }\n";
        let wanted = [
            "2: std::sync::atomic as atomic",
            "2: std::sync::atomic::AtomicBool as AtomicBool",
            "2: std::sync::Arc as Arc",
            "3: std::thread as t",
            "5: a::b::* as *",
            "6: c::d as d",
            "7: e::g as g",
        ];
        assert_eq!(paths(text), wanted);
    }

    #[test]
    fn paths_are_those_of_code_alone() {
        let text = "// a::b\nlet s = \"a::b\"; /* c::d */ let c = '\"';\nx!(e::f::<u8>(), g);\n\
                    $crate::h(); thread_local! {}\nfn r#type() -> impl Sized + use<> {}\npub(in i::j) fn k() {}\n";
        assert_eq!(paths(text), ["3: e::f", "4: thread_local"]);
    }

    #[test]
    fn test_modules_are_told() {
        let text = "a::b();\n#[cfg(test)]\n#[x]\npub(crate) mod tests {\n    c::d();\n}\n\
                    #[cfg(test)]\nmod out;\nmod inner { e::f(); }\n";
        assert_eq!(paths(text), ["1: a::b", "5: c::d in a test", "9: e::f"]);
    }
}
