//! Links of pages: whether each leads somewhere, and what becomes of those that leave the book.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::page::{self, Texts};

/// Where pictures of the repository lie in the built book, below its pages.
pub(super) const PICTURES: &str = "repository";

/// A page with its links changed, and the pictures that it shows from outside of the book.
pub(super) struct Outside {
    pub(super) text: String,
    pub(super) pictures: Vec<PathBuf>,
}

/// Where a link of a page leads: a path below the root, and an anchor. None, if it is an address of another host or in the
/// documentation of a crate.
fn target(page: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    let elsewhere = ["://", "mailto:", "::", "@"];
    if elsewhere.iter().any(|mark| link.contains(mark)) {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    let joined = match path {
        "" => page.to_owned(),
        path => page.with_file_name("").join(path),
    };
    let mut clean = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::ParentDir => {
                if !clean.pop() {
                    clean.push("..");
                }
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    Some((clean, anchor))
}

/// The links of these pages that lead nowhere, each as the place that has it.
pub(super) fn broken(texts: &Texts, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (page, text) in texts {
        for link in page::links(text) {
            let Some((path, anchor)) = target(page, &link.to) else {
                continue;
            };
            let line = text[..link.range.start].matches('\n').count() + 1;
            let mut report = |why: &str| {
                broken.push(format!("{}:{line}: {}: {why}", page.display(), link.to));
            };
            if !exists(&path) {
                report("there is no such file");
                continue;
            }
            let Some(anchor) = anchor else {
                continue;
            };
            let anchors = texts.get(&path).map(|text| page::anchors(text));
            if anchors.is_some_and(|anchors| !anchors.contains(&anchor)) {
                report("the page has no such heading");
            }
        }
    }
    broken.extend(unlisted(texts));
    broken
}

/// Pages of a book that its table of contents leaves out.
fn unlisted(texts: &Texts) -> Vec<String> {
    let mut missing = Vec::new();
    let summaries = texts
        .iter()
        .filter(|(page, _)| page.ends_with("SUMMARY.md"));
    for (summary, text) in summaries {
        let links = page::links(text).into_iter();
        let listed: Vec<PathBuf> = links
            .filter_map(|link| Some(target(summary, &link.to)?.0))
            .collect();
        let book = summary.with_file_name("");
        let pages = texts.keys().filter(|page| page.starts_with(&book));
        let pages = pages.filter(|page| *page != summary && !listed.contains(page));
        let names = pages.map(|page| format!("{}: SUMMARY.md does not list it", page.display()));
        missing.extend(names);
    }
    missing
}

/// Changes the links of a page that lead out of the book at `book`: to addresses in `repository`, and pictures to copies.
pub(super) fn outside(
    page: &Path,
    text: &str,
    book: &Path,
    repository: &str,
    is_dir: impl Fn(&Path) -> bool,
) -> Result<Outside> {
    let mut changed = text.to_owned();
    let mut pictures = Vec::new();
    // From the end, so that the places before stay.
    let mut links = page::links(text);
    links.sort_by_key(|link| std::cmp::Reverse(link.range.start));
    for link in links {
        let Some((path, anchor)) = target(page, &link.to) else {
            continue;
        };
        if path.starts_with(book) {
            continue;
        }
        let shown = path.display();
        let address = if link.is_picture {
            let below = page.strip_prefix(book.join("src"))?;
            let up = "../".repeat(below.components().count() - 1);
            let address = format!("{up}{PICTURES}/{shown}");
            pictures.push(path);
            address
        } else {
            let kind = if is_dir(&path) { "tree" } else { "blob" };
            let anchor = anchor
                .map(|anchor| format!("#{anchor}"))
                .unwrap_or_default();
            format!("{repository}/{kind}/main/{shown}{anchor}")
        };
        let written = &changed[link.range.clone()];
        let at = written.rfind(&link.to).with_context(|| {
            format!(
                "{}: write the address of `{written}` beside its words",
                page.display()
            )
        })?;
        let start = link.range.start + at;
        changed.replace_range(start..start + link.to.len(), &address);
    }
    Ok(Outside {
        text: changed,
        pictures,
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::page::Texts;
    use super::{broken, outside};

    fn texts(pages: &[(&str, &str)]) -> Texts {
        let pages = pages.iter();
        let pages = pages.map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
        pages.collect()
    }

    /// What is wrong with a link of `docs/a.md`.
    fn found(link: &str) -> Vec<String> {
        let text = format!("# A\n\n[x]({link})\n");
        let texts = texts(&[
            ("docs/a.md", &text),
            ("README.md", "# Top\n\n## More to it\n"),
        ]);
        let files = ["docs/a.md", "README.md", "docs/p.svg", "docs"].map(Path::new);
        broken(&texts, |path| files.contains(&path))
    }

    #[test]
    fn whole_links_are_none() {
        for link in [
            "p.svg",
            "../README.md",
            "../README.md#more-to-it",
            "#a",
            "../docs",
        ] {
            assert_eq!(found(link), [""; 0], "{link}");
        }
        for link in ["https://example.com/gone.md#b", "mod@gone", "a::b"] {
            assert_eq!(found(link), [""; 0], "{link}");
        }
    }

    #[test]
    fn a_link_to_no_file_is_broken() {
        let why = "docs/a.md:3: gone.md: there is no such file";
        assert_eq!(found("gone.md"), [why]);
        assert_eq!(found("../../README.md").len(), 1, "above the root");
        assert_eq!(found("gone.md#a").len(), 1);
    }

    #[test]
    fn a_link_to_no_heading_is_broken() {
        let why = "docs/a.md:3: ../README.md#more: the page has no such heading";
        assert_eq!(found("../README.md#more"), [why]);
        assert_eq!(found("#b").len(), 1);
    }

    #[test]
    fn a_page_that_no_contents_list_is_broken() {
        let pages = [
            ("b/SUMMARY.md", "[A](a.md)"),
            ("b/a.md", ""),
            ("b/c/d.md", ""),
        ];
        let why = "b/c/d.md: SUMMARY.md does not list it";
        assert_eq!(broken(&texts(&pages), |_| true), [why]);
    }

    #[test]
    fn links_that_leave_the_book_become_addresses() {
        let text = "[a](../b.md) [a](../../../../README.md#x) [c](../../../../crates) ![d](../../../d.svg)";
        let page = Path::new("docs/book/src/g/p.md");
        let book = Path::new("docs/book");
        let found = outside(page, text, book, "https://h", |path| {
            path == Path::new("crates")
        });
        let found = found.expect("addresses are in their places");
        let wanted = "[a](../b.md) [a](https://h/blob/main/README.md#x) [c](https://h/tree/main/crates) ![d](../repository/docs/d.svg)";
        assert_eq!(found.text, wanted);
        assert_eq!(found.pictures, [Path::new("docs/d.svg")]);
    }

    #[test]
    fn an_address_that_stands_elsewhere_is_an_error() {
        let page = Path::new("docs/book/src/p.md");
        let text = "[a]\n\n[a]: ../../../README.md\n";
        assert!(outside(page, text, Path::new("docs/book"), "https://h", |_| false).is_err());
    }
}
