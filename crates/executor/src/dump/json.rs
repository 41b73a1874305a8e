//! JSON, as much of it as a dump needs.

use std::fmt::Write as _;
use std::panic::Location;
use std::time::Duration;

/// A value that has a JSON form.
pub(super) trait Json {
    /// Appends it.
    fn json(&self, out: &mut String);
}

/// Appends an object with these members.
pub(super) fn object<'v>(
    out: &mut String,
    members: impl IntoIterator<Item = (&'static str, &'v dyn Json)>,
) {
    let members = members.into_iter().map(|(name, value)| {
        move |out: &mut String| {
            name.json(out);
            out.push(':');
            value.json(out);
        }
    });
    list(out, ['{', '}'], members);
}

/// Appends a list, or the members of an object.
fn list(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = impl FnOnce(&mut String)>,
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        item(out);
    }
    out.push(close);
}

impl Json for str {
    fn json(&self, out: &mut String) {
        out.push('"');
        for char in self.chars() {
            match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\u{0}'..='\u{1f}' | '\u{7f}' => {
                    let _written = write!(out, "\\u{:04x}", u32::from(char));
                }
                _ => out.push(char),
            }
        }
        out.push('"');
    }
}

impl Json for &str {
    fn json(&self, out: &mut String) {
        (**self).json(out);
    }
}

impl Json for String {
    fn json(&self, out: &mut String) {
        (**self).json(out);
    }
}

impl Json for &Location<'_> {
    fn json(&self, out: &mut String) {
        self.to_string().json(out);
    }
}

impl Json for bool {
    fn json(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Json for usize {
    fn json(&self, out: &mut String) {
        let _written = write!(out, "{self}");
    }
}

impl Json for u64 {
    fn json(&self, out: &mut String) {
        let _written = write!(out, "{self}");
    }
}

/// In seconds.
impl Json for Duration {
    fn json(&self, out: &mut String) {
        let _written = write!(out, "{}.{:09}", self.as_secs(), self.subsec_nanos());
    }
}

impl<T: Json> Json for Option<T> {
    fn json(&self, out: &mut String) {
        match self {
            Some(value) => value.json(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Json> Json for Vec<T> {
    fn json(&self, out: &mut String) {
        list(
            out,
            ['[', ']'],
            self.iter()
                .map(|item| move |out: &mut String| item.json(out)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &dyn Json) -> String {
        let mut out = String::new();
        value.json(&mut out);
        out
    }

    #[test]
    fn each_kind_of_value_has_a_form() {
        assert_eq!(
            json(&"a \"b\"\\\n\t\u{0}\u{7f}é"),
            r#""a \"b\"\\\n\u0009\u0000\u007fé""#
        );
        assert_eq!(json(&Some(true)), "true");
        assert_eq!(json(&None::<usize>), "null");
        assert_eq!(json(&u64::MAX), "18446744073709551615");
        assert_eq!(json(&Duration::new(3, 5)), "3.000000005");
        assert_eq!(json(&vec![1_usize, 2]), "[1,2]");
        assert_eq!(json(&Vec::<String>::new()), "[]");
    }

    #[test]
    fn an_object_has_its_members_in_order() {
        let mut out = String::new();
        let members: [(&str, &dyn Json); 2] = [("b", &1_usize), ("a", &"x")];
        object(&mut out, members);
        assert_eq!(out, r#"{"b":1,"a":"x"}"#);
    }
}
