//! The models of loom as their sources have them: name, file, and what the comment says.

use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use super::layers;
use crate::workspace::rust_files;

/// Where the models lie.
const TESTS: &str = "loom-tests/tests";

/// How the sentences of a comment begin that tell which mutants a model catches.
const MUTANTS: [&str; 4] = ["Seen to ", "Fails ", "Fails:", "loom saw "];

#[derive(Debug, PartialEq)]
pub(crate) struct Described {
    /// `FILE::TEST`, as a run names it.
    pub(crate) title: String,
    /// The source, relative to the root of the workspace.
    pub(crate) file: String,
    pub(crate) test: String,
    /// What the comment says first; empty where there is none.
    pub(crate) shows: String,
}

impl Described {
    pub(crate) fn layer(&self) -> Option<&'static str> {
        layers::of(self.title.split("::").next().unwrap_or_default())
    }
}

/// All models below `root`, by file, and within a file in their order there.
pub(crate) fn all(root: &Path) -> Result<Vec<Described>> {
    let mut models = Vec::new();
    for file in rust_files(root, &root.join(TESTS))? {
        let text = fs_err::read_to_string(root.join(&file))?;
        models.extend(of_file(&file, &text).with_context(|| file.clone())?);
    }
    Ok(models)
}

/// How many functions below `dir` are tests.
pub(crate) fn tests_below(root: &Path, dir: &str) -> Result<usize> {
    let mut tests = 0;
    for file in rust_files(root, &root.join(dir))? {
        let tokens: Option<TokenStream> = fs_err::read_to_string(root.join(&file))?.parse().ok();
        tests += count(tokens.with_context(|| format!("{file} is no Rust"))?);
    }
    Ok(tests)
}

/// How often `#[test]` stands among the tokens.
fn count(tokens: TokenStream) -> usize {
    let (mut tests, mut is_attribute) = (0, false);
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let is_test = is_attribute && group.stream().to_string() == "test";
            tests += if is_test { 1 } else { count(group.stream()) };
        }
        is_attribute = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '#');
    }
    tests
}

fn of_file(file: &str, text: &str) -> Result<Vec<Described>> {
    let path = file
        .strip_prefix(TESTS)
        .context("it is no file of models")?;
    let path = path.trim_start_matches('/').trim_end_matches(".rs");
    let modules = path.trim_end_matches("/main").replace('/', "::");
    let tokens: Option<TokenStream> = text.parse().ok();
    let tokens = tokens.context("it is no Rust")?;
    let tests = tests(tokens).into_iter().map(|(test, comment)| Described {
        title: format!("{modules}::{test}"),
        file: file.to_owned(),
        shows: first(&comment),
        test,
    });
    Ok(tests.collect())
}

/// The tests among these items, each with its comment.
fn tests(tokens: TokenStream) -> Vec<(String, String)> {
    let (mut tests, mut comment, mut is_test) = (Vec::new(), String::new(), false);
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.next() else {
                    continue;
                };
                let attribute = attribute.stream().to_string();
                is_test |= attribute == "test";
                if let Some(line) = attribute.strip_prefix("doc = \"") {
                    let line = line.trim_end_matches('"').replace("\\\"", "\"");
                    comment += &(line.trim().to_owned() + "\n");
                }
            }
            TokenTree::Ident(word) if word == "fn" && is_test => {
                let name = tokens.next().map(|name| name.to_string());
                tests.extend(name.map(|name| (name, std::mem::take(&mut comment))));
                is_test = false;
            }
            // An item that is no test.
            _ => comment.clear(),
        }
    }
    tests
}

/// What a comment says in its first paragraph, in one line, without the mutants.
fn first(comment: &str) -> String {
    let (paragraph, _) = comment.split_once("\n\n").unwrap_or((comment, ""));
    let text = paragraph.trim().replace('\n', " ");
    let ends = MUTANTS.iter().filter_map(|start| {
        let at_once = text.starts_with(start).then_some(0);
        at_once.or_else(|| text.find(&format!(". {start}")).map(|at| at + 1))
    });
    let end = ends.min().unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Described, count, of_file};

    const TEXT: &str = r#"
//! Models.
use a::b;

/// A helper.
fn help() {}

/// A "thread" gets
/// it. And more. Seen to fail without `c`.
///
/// Further.
#[test]
fn one() { help(); }

#[test]
fn two() {}

/// Fails under `d`.
#[test]
fn three() {}
"#;

    #[test]
    fn the_first_paragraph_says_what_a_model_shows() {
        let models = of_file("loom-tests/tests/local_task/eager.rs", TEXT).expect("it is Rust");
        let shown = |test: &str, shows: &str| Described {
            title: format!("local_task::eager::{test}"),
            file: "loom-tests/tests/local_task/eager.rs".to_owned(),
            test: test.to_owned(),
            shows: shows.to_owned(),
        };
        let one = shown("one", "A \"thread\" gets it. And more.");
        assert_eq!(models, [one, shown("two", ""), shown("three", "")]);
        assert_eq!(models[0].layer(), Some("local"));
        let main = of_file("loom-tests/tests/local_task/main.rs", TEXT).expect("it is Rust");
        assert_eq!(main[1].title, "local_task::two");
        let nested = format!("{TEXT} mod inside {{ #[test] fn four() {{}} }}");
        assert_eq!(count(nested.parse().expect("it is Rust")), 4);
    }
}
