//! Whether the documentation of each public item has an example.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use public_api::PublicItem;
use regex_lite::Regex;
use rustdoc_types::{Crate, Id, Item, ItemEnum};

/// A sentence that names an item whose example also shows this one. A link is `[TEXT]` or `[TEXT](TARGET)`.
const SENTENCE: &str =
    r"\[([^\]]+)\](?:\(([^)]+)\))?(?:,?\s+(?:and|which))?\s+ha(?:s|ve)\s+an\s+example";

/// Those of these items, which a description lists, that need an example and have none.
pub(super) fn missing<'i>(
    description: &Path,
    items: impl Iterator<Item = &'i PublicItem>,
) -> Result<Vec<String>> {
    let text = fs_err::read_to_string(description)?;
    let described: Crate = serde_json::from_str(&text)
        .with_context(|| format!("cannot read {}", description.display()))?;
    let sentence = Regex::new(SENTENCE)?;
    // An item that is exported twice is listed twice.
    let mut seen = HashSet::new();
    let bare = items
        .filter(|item| is_bare(&described.index, item.id(), &sentence) && seen.insert(item.id()));
    // Without attributes and arguments.
    let name = |item: &PublicItem| {
        let text = item.to_string();
        let from = text.find("pub ").unwrap_or(0);
        text[from..].split('(').take(1).collect()
    };
    Ok(bare.map(name).collect())
}

/// Whether it is a function, method, type, trait or macro without an example, in its documentation or in that of an item it names.
/// An item of another package is no matter of this one.
fn is_bare(index: &HashMap<Id, Item>, id: Id, sentence: &Regex) -> bool {
    use ItemEnum::{Enum, Function, Macro, ProcMacro, Struct, Trait, Union};
    let Some(item) = index.get(&id) else {
        return false;
    };
    let needs = matches!(
        item.inner,
        Function(_) | Struct(_) | Enum(_) | Union(_) | Trait(_) | Macro(_) | ProcMacro(_)
    );
    let named = sentence.captures_iter(docs(item)).any(|found| {
        let link = found.get(2).or(found.get(1)).map_or("", |m| m.as_str());
        let id = item.links.get(link);
        id.is_some_and(|id| index.get(id).is_none_or(has_code))
    });
    needs && !has_code(item) && !named
}

/// Whether it has a block of code that compiles. Each second fence ends a block.
fn has_code(item: &Item) -> bool {
    let fences = docs(item).lines().filter(|line| line.starts_with("```"));
    let no_example = ["```text", "```ignore", "```compile_fail"];
    let mut begins = fences.step_by(2);
    begins.any(|begin| !no_example.iter().any(|no| begin.starts_with(no)))
}

fn docs(item: &Item) -> &str {
    item.docs.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use regex_lite::Regex;
    use rustdoc_types::{Id, Item};
    use serde_json::json;

    use super::{SENTENCE, is_bare};

    /// Documents two macros, of which the first has an example. Tells whether the second needs one.
    fn needs_one(docs: &str, links: &[(&str, u32)]) -> bool {
        let item = |id: u32, docs: &str| -> Item {
            let links: HashMap<_, _> = links.iter().copied().collect();
            let item = json!({
                "id": id, "crate_id": 0, "name": "name", "span": null, "visibility": "public", "docs": docs,
                "links": links, "attrs": [], "deprecation": null, "inner": {"macro": ""},
            });
            serde_json::from_value(item).expect("it is an item")
        };
        let index = HashMap::from([(Id(1), item(1, "```\n```")), (Id(2), item(2, docs))]);
        is_bare(&index, Id(2), &Regex::new(SENTENCE).unwrap())
    }

    #[test]
    fn an_item_has_an_example_or_names_one_that_has() {
        assert!(!needs_one("Text.\n\n```\nassert!(true);\n```", &[]));
        assert!(needs_one("```text\n```\n\n```compile_fail\n```", &[]));
        assert!(needs_one("Text. This has an example.", &[]));
        assert!(!needs_one("[`first`] has an example.", &[("`first`", 1)]));
        let target = "Text. See [`first`](crate::first), which\nhas an example of both.";
        assert!(!needs_one(target, &[("crate::first", 1)]));
        assert!(needs_one(target, &[]), "it links nothing");
        assert!(needs_one("[`it`] has an example.", &[("`it`", 2)]));
        assert!(!needs_one("[`far`] has an example.", &[("`far`", 3)]));
    }
}
