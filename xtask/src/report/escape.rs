//! Names of benches, and other text that is not ours, inside Markdown.

/// As a code span; also safe inside a table.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    // A backslash in front of a bar is read by the table, before the code span is.
    let text = text.replace('|', "\\|");
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// As plain text: no markup, no mention, no table cell begins in it.
pub(super) fn plain(text: &str) -> String {
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

/// A table; the first column is left, the others right aligned.
pub(super) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = format!("| {} |\n|", header.join(" | "));
    for index in 0..header.len() {
        out.push_str(if index == 0 { ":--|" } else { "--:|" });
    }
    for row in rows {
        out.push_str(&format!("\n| {} |", row.join(" | ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{code, plain};

    #[test]
    fn code_spans_hold_backticks_and_bars() {
        assert_eq!(code("queue/push/8"), "`queue/push/8`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a|b\nc"), "`a\\|b c`");
        assert_eq!(code(""), "`  `");
    }

    #[test]
    fn plain_text_starts_no_markup() {
        assert_eq!(
            plain("a_b <c> & @d | *e*"),
            "a\\_b &lt;c&gt; &amp; &#64;d \\| \\*e\\*"
        );
        assert_eq!(plain("1\n# 2"), "1 \\# 2");
    }
}
