//! A Rust source file split, line by line, into code, string contents and comments.
//!
//! The compiler's own lexer tells a mark in a comment from the same word in a string.

use std::path::{Path, PathBuf};

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// One file, in three views with the same line numbers.
pub(super) struct Source {
    /// Relative to the root of the workspace.
    pub(super) path: PathBuf,
    /// Code alone: comments and the contents of strings are blanks.
    pub(super) code: Vec<String>,
    /// Code with its strings; comments are blanks.
    pub(super) full: Vec<String>,
    /// Comments alone.
    pub(super) comment: Vec<String>,
}

impl Source {
    pub(super) fn new(path: impl Into<PathBuf>, text: &str) -> Self {
        let mut views = [const { String::new() }; 3];
        let mut rest = text;
        for token in tokenize(text, FrontmatterAllowed::No) {
            let (token_text, after) = rest.split_at(token.len as usize);
            rest = after;
            let blank = blank(token_text);
            let hollow = hollow(token_text);
            let shown = match token.kind {
                TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => {
                    [&*blank, &blank, token_text]
                }
                TokenKind::Literal { .. } => [&hollow, token_text, &blank],
                _ => [token_text, token_text, &blank],
            };
            for (view, shown) in views.iter_mut().zip(shown) {
                view.push_str(shown);
            }
        }
        let [code, full, comment] = views.map(|view| lines(&view));
        Self {
            path: path.into(),
            code,
            full,
            comment,
        }
    }

    pub(super) fn lines(&self) -> usize {
        self.code.len()
    }

    /// Whether the file lies in a `tests`, `examples` or `benches` directory.
    pub(super) fn is_test_file(&self) -> bool {
        self.path.components().any(|c| {
            ["tests", "examples", "benches"]
                .iter()
                .any(|d| c.as_os_str() == *d)
        })
    }

    /// Whether the file belongs to the package in `dir`.
    pub(super) fn is_in(&self, dir: impl AsRef<Path>) -> bool {
        self.path.starts_with(dir)
    }

    /// The lines (from 0) of inline `#[cfg(test)] mod … { … }` blocks.
    pub(super) fn in_test_module(&self) -> Vec<bool> {
        let mut marks = vec![false; self.lines()];
        let mut armed = false;
        let mut depth = None::<i64>;
        for (line, code) in self.code.iter().enumerate() {
            let attribute = code.trim_start().starts_with("#[");
            if depth.is_none() && code.contains("#[cfg(test)]") {
                armed = true;
            } else if depth.is_none() && armed && !attribute && !code.trim().is_empty() {
                armed = false;
                if code.trim_start().starts_with("mod ") && code.contains('{') {
                    depth = Some(0);
                }
            }
            if let Some(open) = &mut depth {
                marks[line] = true;
                for c in code.chars() {
                    *open += i64::from(c == '{') - i64::from(c == '}');
                }
                if *open == 0 {
                    depth = None;
                }
            }
        }
        marks
    }
}

fn lines(view: &str) -> Vec<String> {
    view.lines().map(|l| l.trim_end().to_owned()).collect()
}

/// As long, and with the same lines.
fn blank(text: &str) -> String {
    let blank = |c: char| if c == '\n' { c } else { ' ' };
    text.chars().map(blank).collect()
}

/// A literal without what stands between its quotes.
fn hollow(literal: &str) -> String {
    let Some(first) = literal.find(['"', '\'']) else {
        return literal.to_owned();
    };
    let (before, inside) = literal.split_at(first + 1);
    let last = inside.rfind(&before[first..]).unwrap_or(inside.len());
    format!("{before}{}{}", blank(&inside[..last]), &inside[last..])
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn comments_strings_and_code_are_told_apart() {
        let text =
            "let a = \"// no\"; // yes \"b\"\n/* x /* y */ z */ let c = r#\"q \"raw\" \"#;\n";
        let source = Source::new("a.rs", text);
        assert_eq!(source.code[0], "let a = \"     \";");
        assert_eq!(source.full[0], "let a = \"// no\";");
        assert_eq!(source.comment[0].trim(), "// yes \"b\"");
        assert_eq!(source.comment[1].trim(), "/* x /* y */ z */");
        assert_eq!(source.code[1].trim(), "let c = r#\"        \"#;");
    }

    #[test]
    fn quotes_in_characters_and_lifetimes_open_nothing() {
        let text = "fn f<'a>(x: &'a str) -> char { '\"' }\nlet b = b'\\''; let s = \"t\"; // end\n";
        let source = Source::new("a.rs", text);
        assert!(source.code[0].contains("-> char {"));
        assert!(source.code[1].contains("let s = \" \";"));
        assert_eq!(source.comment[1].trim(), "// end");
    }

    #[test]
    fn strings_may_span_lines_and_hold_escaped_quotes() {
        let source = Source::new("a.rs", "let a = \"x \\\" y\n todo\"; b();\n");
        assert_eq!(source.code[1].trim(), "\"; b();");
    }

    #[test]
    fn raw_identifiers_and_byte_strings() {
        let source = Source::new("a.rs", "let r#type = br\"x\"; attr\"\"; let y = 1;\n");
        assert!(source.code[0].contains("let r#type = br\" \";"));
        assert!(source.code[0].ends_with("let y = 1;"));
    }

    #[test]
    fn test_modules_are_found_to_their_last_brace() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let marks = Source::new("a.rs", text).in_test_module();
        assert_eq!(marks, [false, false, true, true, true, false]);
    }
}
