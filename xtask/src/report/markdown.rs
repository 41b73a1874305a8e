//! Reports in Markdown: `report.md` for a pull request, and the generated part of the results page.

use super::document::{Cell, Document, Part, Table, spans};
use super::model::Verdict;
use super::units::counted;

/// GitHub takes 65,536 characters in a comment. Rows beyond this budget are left to the other reports.
const BUDGET: usize = 50_000;
/// What a list may take beside it.
const LIST: usize = 3_000;

/// The report of a comparison, small enough for a comment.
pub(super) fn document(document: &Document) -> String {
    let mark = match document.tone {
        Verdict::Slower => "🔴",
        Verdict::Unstable => "🟡",
        Verdict::Faster | Verdict::Same => "🟢",
    };
    let mut left = BUDGET;
    let mut texts = vec![format!("## {mark} {}", text(&document.title))];
    texts.extend(document.lead.iter().map(|sentence| text(sentence)));
    texts.extend(document.parts.iter().map(|p| part(p, &mut left)));
    texts.join("\n\n") + "\n"
}

/// Parts without a budget.
pub(crate) fn parts(parts: &[Part]) -> String {
    let texts = parts.iter().map(|p| part(p, &mut usize::MAX.clone()));
    texts.collect::<Vec<_>>().join("\n\n")
}

fn part(part: &Part, left: &mut usize) -> String {
    match part {
        Part::Text(said) => text(said),
        Part::Warning(said) => format!("> {}", text(said)),
        Part::Table(table) => titled(table, left),
        Part::List { title, items } => {
            let line = |(item, said): &(Cell, String)| match said.as_str() {
                "" => format!("- {}", cell(item)),
                said => format!("- {}: {}", cell(item), text(said)),
            };
            let (mut lines, missing) = fitting(items.iter().map(line), &mut LIST.clone());
            lines.extend((missing > 0).then(|| format!("- … and {missing} more")));
            details(title, &lines.join("\n"))
        }
    }
}

fn details(summary: &str, content: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{content}\n\n</details>")
}

fn titled(table: &Table, left: &mut usize) -> String {
    let content = rows(table, left);
    if table.folded {
        details(&plain(&table.title), &content)
    } else if table.title.is_empty() {
        content
    } else {
        format!("## {}\n\n{content}", plain(&table.title))
    }
}

/// The table and its note. The first column is left aligned, the others right.
fn rows(table: &Table, left: &mut usize) -> String {
    let align = |at: usize| if at == 0 { ":--|" } else { "--:|" };
    let aligns: String = (0..table.header.len()).map(align).collect();
    let mut lines = vec![
        format!("| {} |", table.header.join(" | ")),
        format!("|{aligns}"),
    ];
    let shown = table.rows.iter().map(|row| {
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        format!("| {} |", cells.join(" | "))
    });
    let (shown, missing) = fitting(shown, left);
    lines.extend(shown);
    let mut out = lines.join("\n");
    if missing > 0 {
        let amount = counted(missing, "bench", "benches");
        out += &format!("\n\n{amount} more do not fit into a comment and are in report.html.");
    }
    if !table.note.is_empty() {
        out += &format!("\n\n{}", text(&table.note));
    }
    out
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Name(text) => code(text),
        Cell::Verdict(text, Some(Verdict::Slower | Verdict::Faster)) => {
            format!("**{}**", plain(text))
        }
        Cell::Word(text) | Cell::Figure(text) | Cell::Verdict(text, _) => plain(text),
    }
}

/// The lines that fit into what is left, and how many do not.
fn fitting(lines: impl ExactSizeIterator<Item = String>, left: &mut usize) -> (Vec<String>, usize) {
    let all = lines.len();
    let fits = |line: &String| {
        let rest = left.checked_sub(line.chars().count() + 1);
        *left = rest.unwrap_or(0);
        rest.is_some()
    };
    let shown: Vec<String> = lines.take_while(fits).collect();
    let missing = all - shown.len();
    (shown, missing)
}

/// Text in which what stands between backticks stays a command.
fn text(text: &str) -> String {
    let span = |(command, part)| if command { code(part) } else { plain(part) };
    spans(text).map(span).collect()
}

/// As a code span; also safe inside a table.
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    // A table reads a backslash in front of a bar before the code span does.
    let text = text.replace('|', "\\|");
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// As plain text: no markup, no mention, no table cell begins in it.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// Line breaks and control characters become spaces.
fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use super::{code, plain};

    #[test]
    fn names_start_no_markup() {
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a|b\nc"), "`a\\|b c`");
        assert_eq!(code(""), "`  `");
        assert_eq!(
            plain("a_b <c> & @d | *e*"),
            "a\\_b &lt;c&gt; &amp; &#64;d \\| \\*e\\*"
        );
        assert_eq!(plain("1\n# 2"), "1 \\# 2");
    }
}
