//! A Rust source file as commands look at it: its text, and the paths in its tokens.
//!
//! Tokens tell code from comments and strings, and they are there inside macros too, which no parser of items reads.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

/// What code is compiled for that is no part of the program as it is: a test, a checker's stand-in, a mutant.
const APART: [&str; 4] = [
    "cfg(test",
    "cfg(all(test",
    "cfg(terrace_loom",
    "cfg(terrace_shuttle",
];

/// One file.
#[derive(Default)]
pub(crate) struct Source {
    /// Relative to the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Every path, keywords and single names too, in their order.
    pub(crate) names: Vec<Named>,
    /// The macros that plant the fault that their argument names.
    pub(crate) weakening: Vec<String>,
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
    /// A condition of a cfg says that it equals this.
    Equals(String),
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

    /// Reads tokens; if they are arguments, commas count them.
    fn read(&mut self, stream: TokenStream, mut around: Around, are_arguments: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        // How far the item goes that an attribute is before.
        let (mut test_to, mut apart_to) = (0, 0);
        // The body of the item whose head is read, and what is around what stands in it.
        let mut body = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let mut here = around.clone();
            here.test |= at < test_to;
            here.apart |= at < apart_to;
            let rest = &tokens[at + 1..];
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    let inside = body.take_if(|(index, _)| *index == at - 1);
                    let inside = inside.map_or(here, |(_, inside)| inside);
                    self.read(group.stream(), inside, false);
                }
                TokenTree::Punct(_) if are_arguments && is(token, ',') => {
                    around.call = around.call.map(|(call, number)| (call, number + 1));
                }
                TokenTree::Punct(_) if is(token, '#') => {
                    let condition = rest.first().map(ToString::to_string).unwrap_or_default();
                    let condition = condition.replace(' ', "");
                    let condition = condition.trim_start_matches('[');
                    let end = at + 1 + item(rest.get(1..).unwrap_or_default());
                    if condition == "cfg(test)]" {
                        test_to = end;
                    }
                    if APART.iter().any(|start| condition.starts_with(start)) {
                        apart_to = end;
                    }
                }
                TokenTree::Ident(word) => match (word.to_string().as_str(), rest) {
                    ("use", [next, ..]) if !is(next, '<') => {
                        let end = rest.iter().position(|token| is(token, ';'));
                        let tree = &rest[..end.unwrap_or(rest.len())];
                        self.import(tree, &[], &here);
                        at += tree.len();
                    }
                    // `pub(in PATH)` takes nothing from there.
                    ("in", _) if at == 1 => return,
                    ("mod" | "fn" | "impl", _) => {
                        let end = rest.iter().position(|t| is_braced(t) || is(t, ';'));
                        let end = end.filter(|end| is_braced(&rest[*end]));
                        let is_new = |end: &usize| body.as_ref().is_none_or(|(i, _)| at + end > *i);
                        if let Some(end) = end.filter(is_new) {
                            here.enter(word, &rest[..end]);
                            body = Some((at + end, here));
                        }
                        // The name of a function is no call.
                        at += usize::from(word == "fn");
                    }
                    ("if", [weakened, _, _, ..]) if weakened.to_string() == "weakened" => {
                        apart_to = at + 4;
                    }
                    _ => {
                        let before = at.checked_sub(2).map(|before| &tokens[before]);
                        // A macro's `$crate` is for its users.
                        let is_own = !before.is_some_and(|before| is(before, '$'));
                        at = self.path(word, &tokens, at, here, is_own);
                    }
                },
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
        around: Around,
        is_own: bool,
    ) -> usize {
        let mut path = vec![first.to_string()];
        while let [colon, second, TokenTree::Ident(segment), ..] = &tokens[at..]
            && is(colon, ':')
            && is(second, ':')
        {
            path.push(segment.to_string());
            at += 3;
        }
        let mut arguments = None;
        let role = match &tokens[at..] {
            [mark, TokenTree::Ident(name), TokenTree::Group(body), ..]
                if path == ["macro_rules"] && is(mark, '!') =>
            {
                let text = body.stream().to_string().replace(' ', "");
                let plants = ["terrace_weaken=$", "weakened!($"];
                let plants = plants.iter().any(|start| text.contains(start));
                self.weakening.extend(plants.then(|| name.to_string()));
                let apart = true;
                self.read(body.stream(), Around { apart, ..around }, false);
                return at + 3;
            }
            [mark, TokenTree::Group(body), ..] if is(mark, '!') => {
                let mut tokens = body.stream().into_iter();
                let first = tokens.next();
                let last = tokens.last().map(|last| last.to_string());
                Role::Macro(first.and_then(|f| string(&f)), last.unwrap_or_default())
            }
            [equals, value, ..] if is(equals, '=') && string(value).is_some() => {
                Role::Equals(string(value).unwrap_or_default())
            }
            [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
                arguments = Some(group.clone());
                Role::Call
            }
            _ => Role::Used,
        };
        let call = self.names.len();
        if !is_own {
            path.insert(0, "$".to_owned());
        }
        self.names.push(Named {
            line: first.span().start().line,
            column: first.span().start().column + 1,
            path,
            role,
            around: around.clone(),
        });
        let Some(arguments) = arguments else {
            return at;
        };
        let call = Some((call, 0));
        self.read(arguments.stream(), Around { call, ..around }, true);
        at + 1
    }

    /// Reads the tree of a `use`.
    fn import(&mut self, tree: &[TokenTree], prefix: &[String], around: &Around) {
        for part in tree.split(|token| is(token, ',')) {
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
                    TokenTree::Punct(_) if is(token, '*') => path.push("*".to_owned()),
                    _ => {}
                }
            }
            if path.len() > 1 {
                path.pop_if(|last| last == "self");
            }
            if let Some(last) = path.last().cloned().filter(|_| is_leaf) {
                let start = part[0].span().start();
                self.names.push(Named {
                    line: start.line,
                    column: start.column + 1,
                    path,
                    role: Role::Import(name.unwrap_or(last)),
                    around: around.clone(),
                });
            }
        }
    }
}

impl Around {
    /// Goes into the body of an item with this keyword and what follows it.
    fn enter(&mut self, keyword: &Ident, head: &[TokenTree]) {
        let name = head.first().map(ToString::to_string).unwrap_or_default();
        if keyword == "mod" {
            self.modules += 1;
        } else if keyword == "impl" {
            self.owner = implemented(head).map(Rc::from);
        } else {
            let owner = self.owner.as_ref().map(|owner| format!("{owner}::"));
            self.function = Rc::from(owner.unwrap_or_default() + &name);
        }
    }
}

fn is(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_braced(token: &TokenTree) -> bool {
    let is_brace = |group: &Group| group.delimiter() == Delimiter::Brace;
    matches!(token, TokenTree::Group(group) if is_brace(group))
}

/// What a string literal says.
fn string(token: &TokenTree) -> Option<String> {
    let text = token.to_string();
    Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// How many tokens the item, the statement or the variant has that comes next.
fn item(tokens: &[TokenTree]) -> usize {
    let first = tokens.first().map(ToString::to_string).unwrap_or_default();
    let is_value = ["let", "const", "static", "use"].contains(&first.as_str());
    let mut is_generic = is_value;
    let end = tokens.iter().position(|token| {
        is_generic |= is(token, '<');
        is(token, ';') || (!is_value && is_braced(token)) || (!is_generic && is(token, ','))
    });
    end.map_or(tokens.len(), |end| end + 1)
}

/// The type in the head of an `impl`: the last name of its path.
fn implemented(head: &[TokenTree]) -> Option<String> {
    let mut depth = 0;
    let mut last = None;
    for (at, token) in head.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if depth == 0 && word == "where" => break,
            TokenTree::Ident(word) if depth == 0 => last = Some(word.to_string()),
            _ if is(token, '<') => depth += 1,
            // Not that of an arrow.
            _ if is(token, '>') && !is(&head[at - 1], '-') => depth -= 1,
            _ => {}
        }
    }
    last
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
