//! A tree of elements that prints as HTML and is well-formed XML as well.

use std::fmt::{self, Write as _};

/// Elements without an end tag: those of HTML that have none, and the shapes of SVG.
const VOID: [&str; 9] = [
    "meta", "br", "wbr", "input", "path", "rect", "line", "circle", "polyline",
];

/// An element; made by [`el`].
pub(super) struct Element {
    name: &'static str,
    /// Escaped.
    attributes: String,
    /// Escaped.
    content: String,
}

/// An element without attributes and content.
pub(super) fn el(name: &'static str) -> Element {
    Element {
        name,
        attributes: String::new(),
        content: String::new(),
    }
}

impl Element {
    pub(super) fn attr(mut self, name: &str, value: impl fmt::Display) -> Self {
        let value = escaped(&value.to_string());
        write!(self.attributes, " {name}=\"{value}\"").expect("a string takes all");
        self
    }

    pub(super) fn class(self, name: &str) -> Self {
        self.attr("class", name)
    }

    pub(super) fn text(mut self, text: impl AsRef<str>) -> Self {
        self.content.push_str(&escaped(text.as_ref()));
        self
    }

    pub(super) fn child(mut self, child: Element) -> Self {
        write!(self.content, "{child}").expect("a string takes all");
        self
    }

    pub(super) fn children(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Self::child)
    }

    /// A style sheet or a script of ours: HTML does not unescape these.
    ///
    /// # Panics
    ///
    /// If it has a character that HTML and XML read differently.
    pub(super) fn raw(mut self, text: &str) -> Self {
        assert!(!text.contains(['<', '&']), "write it without < and &");
        self.content.push_str(text);
        self
    }
}

/// The id of a bench, which may be broken after a slash.
pub(super) fn id(id: &str) -> Element {
    let mut parts = id.split_inclusive('/');
    let first = parts.next().unwrap_or_default();
    parts.fold(el("code").text(first), |code, part| {
        code.child(el("wbr")).text(part)
    })
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            attributes,
            content,
        } = self;
        if VOID.contains(name) {
            assert!(content.is_empty(), "{name} has no content");
            return write!(f, "<{name}{attributes}/>");
        }
        write!(f, "<{name}{attributes}>{content}</{name}>")
    }
}

/// Safe as text and as an attribute; characters that XML forbids become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::el;

    #[test]
    fn text_and_attributes_are_escaped() {
        let link = el("b").attr("title", "\"<&>\u{7}").text("<i> & \"x\"");
        let expected = "<b title=\"&quot;&lt;&amp;&gt;\u{fffd}\">&lt;i&gt; &amp; &quot;x&quot;</b>";
        assert_eq!(link.to_string(), expected);
    }

    #[test]
    fn elements_nest_and_close() {
        let list = el("p").children([el("br"), el("i").child(el("b"))]);
        assert_eq!(list.to_string(), "<p><br/><i><b></b></i></p>");
    }

    #[test]
    #[should_panic(expected = "without < and &")]
    fn raw_text_must_read_alike_in_both() {
        drop(el("script").raw("a < b"));
    }
}
