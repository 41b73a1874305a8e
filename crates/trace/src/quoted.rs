//! A string of JSON. `cargo xtask timeline` compiles this file, too: it uses nothing of the crate.

use std::fmt::{self, Display, Write as _};

/// Writes a text in quotes, with escapes where JSON needs them, or a page that the string stands in.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                '<' | '\0'..='\x1f' | '\x7f' | '\u{2028}' | '\u{2029}' => {
                    write!(f, "\\u{:04x}", u32::from(char))?;
                }
                _ => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::Quoted;
    use std::string::ToString;

    #[test]
    fn texts_survive_a_page() {
        assert_eq!(
            Quoted("a\"\\</script>\n\u{1F600}").to_string(),
            "\"a\\\"\\\\\\u003c/script>\\u000a\u{1F600}\""
        );
    }
}
