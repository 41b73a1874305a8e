//! Reads the tokens of a source file: the paths in them, and what is around each.

use std::rc::Rc;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use super::{Around, Named, Role, Source};

/// What code is compiled for that is no part of the program as it is: a test, or a checker's stand-in.
const APART: [&str; 4] = [
    "cfg(test",
    "cfg(all(test",
    "cfg(terrace_loom",
    "cfg(terrace_shuttle",
];

impl Source {
    /// Reads tokens; if they are arguments, commas count them.
    pub(super) fn read(&mut self, stream: TokenStream, mut around: Around, are_arguments: bool) {
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
        if !is_own {
            path.insert(0, "$".to_owned());
        }
        let call = Some((self.names.len(), 0));
        let role = match &tokens[at..] {
            [mark, TokenTree::Ident(_), TokenTree::Group(body), ..]
                if path == ["macro_rules"] && is(mark, '!') =>
            {
                let apart = true;
                self.read(body.stream(), Around { apart, ..around }, false);
                return at + 3;
            }
            [mark, TokenTree::Group(body), ..] if is(mark, '!') => {
                let mut tokens = body.stream().into_iter();
                let first = tokens.next().and_then(|first| string(&first));
                let last = tokens.last().map(|last| last.to_string());
                Role::Macro(first, last.unwrap_or_default())
            }
            [TokenTree::Group(group), ..] if group.delimiter() == Delimiter::Parenthesis => {
                self.name(first.span(), path, Role::Call, &around);
                self.read(group.stream(), Around { call, ..around }, true);
                return at + 1;
            }
            _ => Role::Used,
        };
        self.name(first.span(), path, role, &around);
        at
    }

    fn name(&mut self, at: Span, path: Vec<String>, role: Role, around: &Around) {
        let (line, column) = (at.start().line, at.start().column + 1);
        let around = around.clone();
        self.names.push(Named {
            line,
            column,
            path,
            role,
            around,
        });
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
                        self.import(&Vec::from_iter(group.stream()), &path, around);
                    }
                    TokenTree::Punct(_) if is(token, '*') => path.push("*".to_owned()),
                    _ => {}
                }
            }
            if path.len() > 1 {
                path.pop_if(|last| last == "self");
            }
            if let Some(last) = path.last().cloned().filter(|_| is_leaf) {
                let role = Role::Import(name.unwrap_or(last));
                self.name(part[0].span(), path, role, around);
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
