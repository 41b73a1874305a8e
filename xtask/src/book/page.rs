//! What a page of markdown has: links, headings, tables.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::PathBuf;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The texts of pages by their paths below the root.
pub(super) type Texts = BTreeMap<PathBuf, String>;

/// A link or a picture: where it leads, and where it stands in the text.
pub(super) struct Link {
    pub(super) to: String,
    pub(super) is_picture: bool,
    pub(super) range: Range<usize>,
}

/// A table: the last heading of the second level above it, its head, its rows.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) section: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// All links and pictures, in order.
pub(super) fn links(text: &str) -> Vec<Link> {
    let link = |(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some((dest_url, false, range)),
        Event::Start(Tag::Image { dest_url, .. }) => Some((dest_url, true, range)),
        _ => None,
    };
    let links = events(text).filter_map(link);
    let links = links.map(|(to, is_picture, range)| Link {
        to: to.into_string(),
        is_picture,
        range,
    });
    links.collect()
}

/// The anchors of all headings, as code hosts and mdbook make them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut seen = HashMap::<String, usize>::new();
    let mut anchors = Vec::new();
    let mut heading = None::<String>;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let mut anchor = heading.take().unwrap_or_default();
                let times = seen.entry(anchor.clone()).or_default();
                if *times > 0 {
                    anchor = format!("{anchor}-{times}");
                }
                *times += 1;
                anchors.push(anchor);
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.extend(words.chars().filter_map(in_anchor));
                }
            }
            _ => {}
        }
    }
    anchors
}

fn in_anchor(letter: char) -> Option<char> {
    match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => letter.to_lowercase().next(),
        _ => None,
    }
}

/// The blocks of Rust, in order.
pub(super) fn programs(text: &str) -> Vec<String> {
    let (mut programs, mut is_rust) = (Vec::<String>::new(), false);
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                is_rust = language.split(',').next() == Some("rust");
                programs.extend(is_rust.then(String::new));
            }
            Event::End(TagEnd::CodeBlock) => is_rust = false,
            Event::Text(lines) if is_rust => {
                if let Some(program) = programs.last_mut() {
                    program.push_str(&lines);
                }
            }
            _ => {}
        }
    }
    programs
}

/// All tables, in order.
pub(super) fn tables(text: &str) -> Vec<Table> {
    let (mut tables, mut section, mut is_title) = (Vec::<Table>::new(), String::new(), false);
    let (mut row, mut cell) = (Vec::new(), String::new());
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                is_title = level as usize == 2;
                if is_title {
                    section.clear();
                }
            }
            Event::End(TagEnd::Heading(_)) => is_title = false,
            Event::Text(words) | Event::Code(words) => {
                let to = if is_title { &mut section } else { &mut cell };
                to.push_str(&words);
            }
            Event::Start(Tag::Table(_)) => tables.push(Table {
                section: section.clone(),
                head: Vec::new(),
                rows: Vec::new(),
            }),
            Event::Start(Tag::TableCell) => cell.clear(),
            Event::End(TagEnd::TableCell) => row.push(std::mem::take(&mut cell)),
            Event::End(TagEnd::TableHead) => {
                if let Some(table) = tables.last_mut() {
                    table.head = std::mem::take(&mut row);
                }
            }
            Event::End(TagEnd::TableRow) => {
                if let Some(table) = tables.last_mut() {
                    table.rows.push(std::mem::take(&mut row));
                }
            }
            _ => {}
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::{Table, anchors, links, programs, tables};

    #[test]
    fn links_in_code_are_none() {
        let text = "[a](b.md#c) ![d](e.svg) `[f](g)`\n\n```\n[h](i)\n```\n";
        let links = links(text);
        let found: Vec<_> = links
            .iter()
            .map(|l| (l.to.as_str(), l.is_picture))
            .collect();
        assert_eq!(found, [("b.md#c", false), ("e.svg", true)]);
        assert_eq!(&text[links[0].range.clone()], "[a](b.md#c)");
    }

    #[test]
    fn programs_are_blocks_of_rust() {
        let text = "```rust,ignore\na();\n\nb();\n```\n\n```sh\nls\n```\n\n```rust\nc();\n```\n";
        assert_eq!(programs(text), ["a();\n\nb();\n", "c();\n"]);
    }

    #[test]
    fn headings_have_anchors_of_their_own() {
        let text = "# A `b_c`: d!\n\n## Two-fold\n\n## Two-fold\n";
        assert_eq!(anchors(text), ["a-b_c-d", "two-fold", "two-fold-1"]);
    }

    #[test]
    fn tables_know_their_section() {
        let text = "# T\n\n## park\n\ntext\n\n| `a` | b |\n|--|--|\n| 1 | `x/y` 2 |\n";
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let table = Table {
            section: "park".to_owned(),
            head: words(["a", "b"]),
            rows: vec![words(["1", "x/y 2"])],
        };
        assert_eq!(tables(text), [table]);
    }
}
