//! `cargo xtask book`: the site, out of `docs/book`.
//!
//! The pages are readable on a code host as they stand, so their links run through the repository. What a page of the built book
//! cannot reach that way becomes an address in the repository. The plots of the results are drawn out of the tables in `docs`.

mod links;
mod page;
mod results;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::build::Build;
use crate::package::locked_probe;
use crate::process::said;
use crate::workspace::{self, Workspace, empty};
use page::Texts;

/// Where the book lies; its pages are in `src`.
const BOOK: &str = "docs/book";

/// The module by which rustdoc runs the programs of the pages.
const PROGRAMS: &str = "crates/terrace/src/book.rs";

/// The page whose program is for the crate without `std`, so that no test of the workspace runs it.
const BARE: &str = "docs/book/src/start/no_std.md";

/// The program that builds it.
const MDBOOK: &str = "0.5.4";

/// What is installed of it: no server, no search. Most of the time goes into that program's own build, so it is not optimised.
const INSTALL: &str = "install --quiet --locked --debug --no-default-features mdbook --version";

#[derive(Args)]
pub(crate) struct BookArgs {
    /// Show the book in a browser
    #[arg(long)]
    open: bool,
}

/// Draws the results, checks the links of all pages of the repository, and builds the book into `target/book`.
pub(crate) fn run(ws: &Workspace, args: &BookArgs) -> Result<()> {
    for file in results::files(&ws.root)? {
        if workspace::write(&ws.root, &file.path, &file.text)? {
            println!("book: wrote {}", file.path.display());
        }
    }
    let texts = texts(ws)?;
    let programs = fs_err::read_to_string(ws.root.join(PROGRAMS))?;
    let not_run = not_run(&texts, &programs);
    ensure!(
        not_run.is_empty(),
        "{PROGRAMS} lacks pages with programs: {}",
        not_run.join(", ")
    );
    let broken = links::broken(&texts, |path| ws.root.join(path).exists());
    for link in &broken {
        println!("error: {link}");
    }
    ensure!(broken.is_empty(), "{} links are broken", broken.len());
    run_bare(ws, &texts)?;
    let program = installed(ws)?;
    let copy = ws.target.join("book-src");
    copy_to(ws, &copy, &texts)?;
    let mut build = Command::new(program);
    build.arg("build").arg(&copy).arg("--dest-dir");
    build.arg(ws.target.join("book"));
    if args.open {
        build.arg("--open");
    }
    let status = build.status().context("cannot start mdbook")?;
    ensure!(status.success(), "mdbook failed: {status}");
    let pages = texts.keys().filter(|path| path.starts_with(BOOK)).count();
    println!(
        "book: {pages} pages in {}, the links of {} files are whole",
        ws.target.join("book").display(),
        texts.len()
    );
    Ok(())
}

/// The texts of all pages of the repository.
fn texts(ws: &Workspace) -> Result<Texts> {
    let mut pages = ws.files()?;
    pages.retain(|path| path.extension().is_some_and(|e| e == "md") && !is_planted(path));
    let texts = pages.into_iter().map(|path| {
        let text = fs_err::read_to_string(ws.root.join(&path))?;
        Ok((path, text))
    });
    texts.collect()
}

/// The pages of the book with Rust in them that the module with this text does not name.
fn not_run(texts: &Texts, programs: &str) -> Vec<String> {
    let pages = texts.iter().filter_map(|(path, text)| {
        let page = path.strip_prefix(BOOK).ok()?.strip_prefix("src").ok()?;
        let is_named = programs.contains(&format!("{page:?}"));
        (text.contains("\n```rust") && !is_named).then(|| page.display().to_string())
    });
    pages.collect()
}

/// Runs the program of the page about machines without an operating system, in a package of its own.
fn run_bare(ws: &Workspace, texts: &Texts) -> Result<()> {
    let programs = page::programs(&texts[Path::new(BARE)]);
    let dir = ws.target.join("book-bare");
    let path = ws.root.join("crates/terrace");
    let terrace = format!("terrace = {{ path = {path:?}, default-features = false }}\n");
    locked_probe(ws, &dir, &terrace)?;
    fs_err::remove_file(dir.join("src/lib.rs"))?;
    workspace::write(&dir, "src/main.rs", &programs[0])?;
    let build = Build::of(&dir, ws.target.join("book-bare/target"));
    build.quiet_cargo(&["run", "--quiet"])
}

/// Whether a page is what a test compares with.
fn is_planted(path: &Path) -> bool {
    path.iter().any(|part| part == "snapshots")
}

/// The path of mdbook, which is built if it is missing or another version.
fn installed(ws: &Workspace) -> Result<PathBuf> {
    let tools = ws.target.join("tools");
    let program = tools.join("bin/mdbook");
    let version = said({
        let mut asked = Command::new(&program);
        asked.arg("--version");
        asked
    });
    if version.is_ok_and(|version| version.trim() == format!("mdbook v{MDBOOK}")) {
        return Ok(program);
    }
    println!("book: builds mdbook {MDBOOK}, once: some three minutes");
    let mut install = Command::new("cargo");
    install.args(INSTALL.split(' ')).arg(MDBOOK);
    install.arg("--root").arg(&tools).current_dir(&ws.root);
    let status = install.status().context("cannot start cargo")?;
    ensure!(status.success(), "mdbook {MDBOOK} cannot be built");
    Ok(program)
}

/// Copies the book, with links that leave it changed to addresses, and with the pictures that it shows from elsewhere.
fn copy_to(ws: &Workspace, copy: &Path, texts: &Texts) -> Result<()> {
    empty(copy)?;
    let repository = ws.layer("executor")?.repository.as_deref();
    let repository = repository.context("the packages name no repository")?;
    let book = ws.root.join(BOOK);
    for file in workspace::files_below(&book)? {
        let below = file.strip_prefix(&ws.root)?;
        let to = copy.join(file.strip_prefix(&book)?);
        let Some(text) = texts.get(below) else {
            workspace::write(copy, &to, fs_err::read(&file)?)?;
            continue;
        };
        let outside = links::outside(below, text, Path::new(BOOK), repository, |path| {
            ws.root.join(path).is_dir()
        })?;
        for picture in &outside.pictures {
            let shown = copy.join("src").join(links::PICTURES).join(picture);
            workspace::write(copy, shown, fs_err::read(ws.root.join(picture))?)?;
        }
        workspace::write(copy, &to, outside.text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Texts, not_run};

    /// The program of a page that needs Bevy, which the workspace of the drop-ins builds.
    #[test]
    fn the_page_about_bevy_has_the_program_of_the_demo() {
        let page = include_str!("../../../docs/book/src/start/bevy.md");
        let program = include_str!("../../../crates/compat/demo/examples/start.rs");
        let (_, program) = program.split_once("\n\n").expect("a heading");
        assert!(page.contains(program), "docs/book/src/start/bevy.md");
    }

    #[test]
    fn a_page_whose_program_is_not_run_is_found() {
        let program = "# A\n\n```rust\nfn main() {}\n```\n";
        let pages = [("a.md", program), ("g/b.md", program), ("c.md", "# C\n")];
        let pages = pages.map(|(page, text)| {
            let path = PathBuf::from("docs/book/src").join(page);
            (path, text.to_owned())
        });
        let texts = Texts::from(pages);
        assert_eq!(not_run(&texts, "a \"a.md\""), ["g/b.md"]);
    }
}
