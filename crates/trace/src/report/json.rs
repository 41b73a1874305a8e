//! JSON, as much of it as a dump needs.

use core::fmt::Write as _;
use core::panic::Location;
use core::time::Duration;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::quoted::Quoted;

/// A value that has a JSON form.
pub(super) trait Json {
    /// Appends it.
    fn json(&self, out: &mut String);
}

/// Appends an object with these members.
pub(super) fn object(out: &mut String, members: &[(&str, &dyn Json)]) {
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        separate(out, index);
        name.json(out);
        out.push(':');
        value.json(out);
    }
    out.push('}');
}

/// Appends what stands before the item with this index.
fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

/// Types whose JSON is what a value with `Display` writes.
macro_rules! shown {
    ($value:ident: $($type:ty => $shown:expr,)+) => {$(
        impl Json for $type {
            fn json(&self, out: &mut String) {
                let $value = self;
                let _written = write!(out, "{}", $shown);
            }
        }
    )+};
}

shown! { value:
    bool => value,
    usize => value,
    u64 => value,
    // In seconds.
    Duration => format_args!("{}.{:09}", value.as_secs(), value.subsec_nanos()),
    &str => Quoted(value),
    String => Quoted(value),
    &Location<'_> => Quoted(&value.to_string()),
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
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            separate(out, index);
            item.json(out);
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn json(value: &dyn Json) -> String {
        let mut out = String::new();
        value.json(&mut out);
        out
    }

    #[test]
    fn each_kind_of_value_has_a_form() {
        assert_eq!(
            json(&"a \"b\"\\\n\t\u{0}\u{7f}é"),
            r#""a \"b\"\\\u000a\u0009\u0000\u007fé""#
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
        object(&mut out, &[("b", &1_usize), ("a", &"x")]);
        assert_eq!(out, r#"{"b":1,"a":"x"}"#);
    }
}
