//! A Rust source file as commands look at it: the paths in its tokens.
//!
//! Tokens tell code from comments and strings, and they are there inside macros too, which no parser of items reads.

mod read;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use proc_macro2::TokenStream;

pub(crate) struct Source {
    /// Relative to the root of the workspace.
    pub(crate) path: PathBuf,
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
    pub(crate) fn last(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

impl Source {
    pub(crate) fn new(path: impl Into<PathBuf>, text: &str) -> Result<Self> {
        let tokens: Option<TokenStream> = text.parse().ok();
        let (path, names) = (path.into(), Vec::new());
        let mut source = Self { path, names };
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
    use expect_test::expect;

    use super::{Role, Source};

    const TEXT: &str = r##"// a::b
pub use std::{sync::{atomic::{self, AtomicBool}, Arc}, thread as t};
#[cfg(x)] use a::b::*;
pub(crate) use ::c::d;
impl<T: Fn() -> u8> Look for Word<T> where T: A {
    fn look() -> impl B + use<> { use e::g; a::b(c::c(d::e)); }
}
#[cfg(test)]
#[x]
pub(crate) mod tests { f::g(); }
#[cfg(terrace_loom)]
fn h<A, B>() { i::i(); }
#[cfg(test)]
mod out;
fn j() { if weakened!("x") { k::k() } else { l::l() } }
macro_rules! m { () => { n::o() } }
let s = "a::b"; /* c::d */ let c = '"'; x!(e::f::<u8>(), g); $crate::h();
pub(in i::j) fn r#type() {}
"##;

    #[test]
    fn imports_and_paths_of_code_are_read_with_what_is_around_them() {
        let source = Source::new("a.rs", TEXT).expect("it is Rust");
        let mut shown = String::new();
        for named in &source.names {
            let (path, around) = (named.path.join("::"), &named.around);
            let role = match &named.role {
                Role::Import(name) => format!(" as {name}"),
                Role::Call if named.path.len() > 1 => format!("() in {}", around.function),
                _ if named.path.len() > 1 => String::new(),
                _ => continue,
            };
            let test = if around.test { " test" } else { "" };
            let apart = if around.apart { " apart" } else { "" };
            shown += &format!("{}: {path}{role}{test}{apart}\n", named.line);
        }
        expect![[r#"
            2: std::sync::atomic as atomic
            2: std::sync::atomic::AtomicBool as AtomicBool
            2: std::sync::Arc as Arc
            2: std::thread as t
            3: a::b::* as *
            4: c::d as d
            6: e::g as g
            6: a::b() in Word::look
            6: c::c() in Word::look
            6: d::e
            10: f::g() in  test apart
            12: i::i() in h apart
            15: k::k() in j apart
            15: l::l() in j
            16: n::o() in  apart
            17: e::f
            17: $::crate::h() in 
        "#]]
        .assert_eq(&shown);
    }
}
