//! A Rust source file split, line by line, into code, string contents and comments.
//!
//! Not a parser: it knows strings, characters, lifetimes and comments, which is what it takes to
//! tell a mark in a comment from the same word in a string.

use std::path::{Path, PathBuf};

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

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Str,
    RawStr(usize),
}

impl Source {
    pub(super) fn new(path: impl Into<PathBuf>, text: &str) -> Self {
        let mut views = Views::default();
        let chars: Vec<char> = text.chars().collect();
        let mut state = State::Code;
        let mut at = 0;
        while at < chars.len() {
            let (next, used) = step(state, &chars, at, &mut views);
            state = next;
            at += used;
        }
        Self {
            path: path.into(),
            code: lines(&views.code),
            full: lines(&views.full),
            comment: lines(&views.comment),
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

#[derive(Default)]
struct Views {
    code: String,
    full: String,
    comment: String,
}

impl Views {
    /// Adds the characters to the views chosen, blanks to the others, line ends to all.
    fn put(&mut self, chars: &[char], code: bool, full: bool, comment: bool) {
        for &c in chars {
            let views = [
                (&mut self.code, code),
                (&mut self.full, full),
                (&mut self.comment, comment),
            ];
            for (view, wanted) in views {
                view.push(if wanted || c == '\n' { c } else { ' ' });
            }
        }
    }
}

/// Handles what starts at `chars[at]`; returns the state after it and how many characters it took.
fn step(state: State, chars: &[char], at: usize, views: &mut Views) -> (State, usize) {
    let rest = &chars[at..];
    let two = |a, b| rest.len() > 1 && rest[0] == a && rest[1] == b;
    match state {
        State::Code => code_step(chars, at, views),
        State::LineComment => {
            views.put(&rest[..1], false, false, true);
            let state = if rest[0] == '\n' { State::Code } else { state };
            (state, 1)
        }
        State::BlockComment(depth) => {
            let (depth, used) = match () {
                () if two('/', '*') => (depth + 1, 2),
                () if two('*', '/') => (depth - 1, 2),
                () => (depth, 1),
            };
            views.put(&rest[..used], false, false, true);
            match depth {
                0 => (State::Code, used),
                _ => (State::BlockComment(depth), used),
            }
        }
        State::Str => {
            if rest[0] == '"' {
                views.put(&rest[..1], true, true, false);
                return (State::Code, 1);
            }
            let used = if rest[0] == '\\' {
                2.min(rest.len())
            } else {
                1
            };
            views.put(&rest[..used], false, true, false);
            (state, used)
        }
        State::RawStr(hashes) => {
            let closes =
                rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|c| *c == '#');
            let used = if closes { hashes + 1 } else { 1 };
            views.put(&rest[..used], closes, true, false);
            (if closes { State::Code } else { state }, used)
        }
    }
}

fn code_step(chars: &[char], at: usize, views: &mut Views) -> (State, usize) {
    let rest = &chars[at..];
    let after_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match (rest[0], rest.get(1)) {
        ('/', Some('/')) => {
            views.put(&rest[..2], false, false, true);
            (State::LineComment, 2)
        }
        ('/', Some('*')) => {
            views.put(&rest[..2], false, false, true);
            (State::BlockComment(1), 2)
        }
        ('"', _) => {
            views.put(&rest[..1], true, true, false);
            (State::Str, 1)
        }
        ('r', Some('"' | '#')) if !after_word || raw_prefix(chars, at) => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            let is_string = rest.get(1 + hashes) == Some(&'"');
            let used = if is_string { hashes + 2 } else { 1 };
            views.put(&rest[..used], true, true, false);
            let state = if is_string {
                State::RawStr(hashes)
            } else {
                State::Code
            };
            (state, used)
        }
        ('\'', _) => {
            let used = char_literal(rest).unwrap_or(1);
            views.put(&rest[..1], true, true, false);
            views.put(&rest[1..used], used == 1, true, false);
            (State::Code, used)
        }
        _ => {
            views.put(&rest[..1], true, true, false);
            (State::Code, 1)
        }
    }
}

/// `br"…"` and `cr"…"`: the `r` follows a letter that is a word of its own.
fn raw_prefix(chars: &[char], at: usize) -> bool {
    let starts_word = at < 2 || !(chars[at - 2].is_alphanumeric() || chars[at - 2] == '_');
    matches!(chars[at - 1], 'b' | 'c') && starts_word
}

/// The length of the character literal at the start, unless it is a lifetime.
fn char_literal(rest: &[char]) -> Option<usize> {
    if rest.get(1) == Some(&'\\') {
        let close = rest.iter().skip(3).position(|c| *c == '\'')?;
        return Some(close + 4);
    }
    (rest.get(2) == Some(&'\'')).then_some(3)
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
