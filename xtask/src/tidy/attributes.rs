//! Lints are silenced by `expect` with a reason, never by `allow`.

use super::Finding;
use super::source::Source;

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        for (at, _) in code.match_indices("#") {
            let attribute = code[at + 1..].trim_start_matches('!');
            let Some(body) = attribute.strip_prefix('[') else {
                continue;
            };
            let body = body.trim_start();
            if body.starts_with("allow(") || conditional(body, "allow(") {
                let what = "use `expect(lint, reason = \"…\")` in the place of `allow`";
                findings.push(Finding::error(&source.path, line + 1, what));
            }
            let expects = body.starts_with("expect(") || conditional(body, "expect(");
            if expects && !has_reason(&source.code[line..]) {
                let what = "`expect` needs a `reason`";
                findings.push(Finding::error(&source.path, line + 1, what));
            }
        }
    }
    findings
}

/// `cfg_attr(…, what(…))` on one line.
fn conditional(body: &str, what: &str) -> bool {
    body.starts_with("cfg_attr(")
        && body
            .match_indices(what)
            .any(|(at, _)| !body[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Whether `reason` stands before the attribute that starts in the first line closes.
fn has_reason(lines: &[String]) -> bool {
    let text = lines
        .iter()
        .take(12)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    let attribute = text.split(")]").next().unwrap_or_default();
    attribute.contains("reason")
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::check;

    fn found(text: &str) -> usize {
        check(&Source::new("a.rs", text)).len()
    }

    #[test]
    fn allow_is_refused() {
        assert_eq!(found("#[allow(dead_code)]\n"), 1);
        assert_eq!(found("#![allow(dead_code, reason = \"r\")]\n"), 1);
        assert_eq!(found("#[cfg_attr(test, allow(dead_code))]\n"), 1);
        assert_eq!(
            found("#[cfg_attr(test, disallow(x))]\nlet s = \"#[allow(x)]\";\n"),
            0
        );
    }

    #[test]
    fn expect_needs_a_reason() {
        assert_eq!(found("#[expect(dead_code, reason = \"r\")]\n"), 0);
        assert_eq!(
            found("#[expect(\n    dead_code,\n    reason = \"r\"\n)]\n"),
            0
        );
        assert_eq!(found("#[expect(dead_code)]\nlet reason = 1;\n"), 1);
        assert_eq!(found("x.expect(\"a lock\");\n"), 0);
    }
}
