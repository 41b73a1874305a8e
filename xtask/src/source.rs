//! A Rust source file as commands look at it: its text, and the paths in its tokens.
//!
//! Tokens tell code from comments and strings, and they are there inside macros too, which no parser of items reads.

mod read;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use proc_macro2::TokenStream;

/// One file.
#[derive(Default)]
pub(crate) struct Source {
    /// Relative to the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Every path, keywords and single names too, in their order.
    pub(crate) names: Vec<Named>,
}

/// A path in the code, or one that an import brings in.
pub(crate) struct Named {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Counted from 1.
    pub(crate) column: usize,
    /// For example `["std", "sync", "atomic", "AtomicBool"]`; a glob ends in `*`.
    pub(crate) path: Vec<String>,
    pub(crate) role: Role,
    pub(crate) around: Around,
}

/// What a path is there for.
#[derive(PartialEq)]
pub(crate) enum Role {
    /// It is used where it stands.
    Used,
    /// An import gives it this name.
    Import(String),
    /// It is called.
    Call,
    /// It is a macro that is used: the string that its argument begins with, and its last token.
    Macro(Option<String>, String),
}

/// What a path stands in.
#[derive(Clone, Default)]
pub(crate) struct Around {
    /// How many inline modules.
    pub(crate) modules: usize,
    /// `#[cfg(test)]` is before it.
    pub(crate) test: bool,
    /// It is only compiled for tests, checkers or mutants, or it is a macro's definition.
    pub(crate) apart: bool,
    /// The type of the `impl`.
    owner: Option<Rc<str>>,
    /// `Type::function`, or `function`.
    pub(crate) function: Rc<str>,
    /// The innermost call, as an index of [`Source::names`], and the number of the argument.
    pub(crate) call: Option<(usize, usize)>,
}

impl Named {
    /// The last segment.
    pub(crate) fn last(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

impl Source {
    pub(crate) fn new(path: impl Into<PathBuf>, text: &str) -> Result<Self> {
        let tokens: Option<TokenStream> = text.parse().ok();
        let mut source = Self {
            path: path.into(),
            text: text.to_owned(),
            ..Self::default()
        };
        source.read(tokens.context("it is no Rust")?, Around::default(), false);
        Ok(source)
    }

    /// Whether the file lies in a `tests`, `examples` or `benches` directory.
    pub(crate) fn is_test_file(&self) -> bool {
        let dirs = ["tests", "examples", "benches"];
        let mut parts = self.path.components();
        parts.any(|part| dirs.iter().any(|dir| part.as_os_str() == *dir))
    }

    /// Whether the file belongs to the package in `dir`.
    pub(crate) fn is_in(&self, dir: impl AsRef<Path>) -> bool {
        self.path.starts_with(dir)
    }

    /// Whether it is code of a layer, or of a package that is built as one.
    pub(crate) fn is_layer(&self) -> bool {
        let excluded = ["crates/compat", "crates/firmware"];
        self.is_in("crates") && !excluded.iter().any(|dir| self.is_in(dir)) && !self.is_test_file()
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, Source};

    /// The paths of two segments or more, and imports.
    fn names(text: &str) -> Vec<String> {
        let source = Source::new("a.rs", text).expect("it is Rust");
        let shown = source.names.iter().filter_map(|named| {
            let name = match &named.role {
                Role::Import(name) => format!(" as {name}"),
                _ if named.path.len() < 2 => return None,
                Role::Call => format!("() in {}", named.around.function),
                _ => String::new(),
            };
            let test = if named.around.test { " test" } else { "" };
            let apart = if named.around.apart { " apart" } else { "" };
            let path = named.path.join("::");
            Some(format!("{}: {path}{name}{test}{apart}", named.line))
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
        assert_eq!(names(text), wanted);
    }

    #[test]
    fn paths_are_those_of_code_alone() {
        let text = "// a::b\nlet s = \"a::b\"; /* c::d */ let c = '\"';\nx!(e::f::<u8>(), g);\n\
                    $crate::h(); fn r#type() -> impl Sized + use<> {}\npub(in i::j) fn k() {}\n";
        assert_eq!(names(text), ["3: e::f", "4: $::crate::h() in "]);
    }

    #[test]
    fn what_is_around_is_told() {
        let text = "impl<T: Fn() -> u8> Look for Word<T> where T: A {\n    fn look() -> impl B { a::b(c::c(d::e)); }\n}\n\
                    #[cfg(test)]\n#[x]\npub(crate) mod tests {\n    f::g();\n}\n#[cfg(terrace_loom)]\nfn h<A, B>() { i::i(); }\n\
                    #[cfg(test)]\nmod out;\nfn j() { if weakened!(\"x\") { k::k() } else { l::l() } }\n\
                    macro_rules! m { () => { n::o() } }\n";
        let wanted = [
            "2: a::b() in Word::look",
            "2: c::c() in Word::look",
            "2: d::e",
            "7: f::g() in  test apart",
            "10: i::i() in h apart",
            "13: k::k() in j apart",
            "13: l::l() in j",
            "14: n::o() in  apart",
        ];
        assert_eq!(names(text), wanted);
    }
}
