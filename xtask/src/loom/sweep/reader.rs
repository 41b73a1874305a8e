//! A source file read for its orderings.

use std::collections::HashMap;

use anyhow::{Result, bail};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Pat, Token};

use super::order::Order;
use super::sites::Site;

/// The sites of one file.
pub(super) fn of_file(name: &str, text: &str) -> Result<Vec<Site>> {
    let file = syn::parse_file(text)?;
    let mut reader = Reader {
        file: name.to_owned(),
        ..Reader::default()
    };
    reader.visit_file(&file);
    match reader.unreadable {
        Some(line) => bail!("line {line}: an ordering in a macro that is not understood"),
        None => Ok(reader.sites),
    }
}

#[derive(Default)]
struct Reader {
    file: String,
    /// The type of the `impl` around.
    owner: Option<String>,
    function: String,
    /// How often each name has been called with an ordering in this function.
    calls: HashMap<String, usize>,
    /// Constants and variables that hold an ordering.
    bound: HashMap<String, Vec<Order>>,
    /// The orderings mentioned in each argument, or initial value, around; the innermost last.
    mentioned: Vec<Vec<Order>>,
    sites: Vec<Site>,
    unreadable: Option<usize>,
}

impl Reader {
    fn mention(&mut self, orders: &[Order]) {
        if let Some(innermost) = self.mentioned.last_mut() {
            innermost.extend(orders);
        }
    }

    /// What `visit` mentions.
    fn mentions(&mut self, visit: impl FnOnce(&mut Self)) -> Vec<Order> {
        self.mentioned.push(Vec::new());
        visit(self);
        self.mentioned.pop().unwrap_or_default()
    }

    /// One call: its arguments may have orderings, one for each place.
    fn call<'a>(
        &mut self,
        name: &str,
        at: proc_macro2::Span,
        args: impl Iterator<Item = &'a Expr>,
    ) {
        let mut places = Vec::new();
        for arg in args {
            let orders = self.mentions(|reader| reader.visit_expr(arg));
            if !orders.is_empty() {
                places.push(orders);
            }
        }
        if ["light", "heavy"].contains(&name) {
            places.push(vec![Order::SeqCst]);
        }
        if places
            .iter()
            .flatten()
            .all(|order| *order == Order::Relaxed)
        {
            return;
        }
        let number = self.calls.entry(name.to_owned()).or_insert(0);
        *number += 1;
        let access = match *number {
            1 => name.to_owned(),
            number => format!("{name}#{number}"),
        };
        for (place, orders) in places.into_iter().enumerate() {
            for order in orders.into_iter().filter(|o| *o != Order::Relaxed) {
                self.sites.push(Site {
                    file: self.file.clone(),
                    function: self.function.clone(),
                    access: access.clone(),
                    line: at.start().line,
                    column: at.start().column + 1,
                    place: place as u8,
                    order,
                });
            }
        }
    }

    /// A constant or variable: one ordering, or a tuple of them.
    fn bind(&mut self, names: &[String], orders: &[Order]) {
        if names.is_empty() || orders.is_empty() {
            return;
        }
        for (index, name) in names.iter().enumerate() {
            let own = orders.iter().skip(index).step_by(names.len());
            let mut own: Vec<Order> = own.copied().collect();
            own.dedup();
            self.bound.insert(name.clone(), own);
        }
    }

    fn function(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let function = match &self.owner {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_owned(),
        };
        let function = std::mem::replace(&mut self.function, function);
        let calls = std::mem::take(&mut self.calls);
        let bound = self.bound.clone();
        visit(self);
        self.function = function;
        self.calls = calls;
        self.bound = bound;
    }
}

/// Whether it is compiled for a test, a checker's stand-in or a mutant only.
fn left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string(),
            _ => return false,
        };
        [
            "test",
            "terrace_loom",
            "terrace_shuttle",
            "terrace_weaken",
            "all (test",
        ]
        .iter()
        .any(|word| condition.starts_with(word))
    })
}

/// The condition of a mutant alone.
fn is_mutant(condition: &Expr) -> bool {
    matches!(condition, Expr::Macro(m) if m.mac.path.is_ident("cfg") && m.mac.tokens.to_string().starts_with("terrace_weaken"))
}

fn names(pattern: &Pat) -> Vec<String> {
    match pattern {
        Pat::Ident(name) => vec![name.ident.to_string()],
        Pat::Type(typed) => names(&typed.pat),
        Pat::Tuple(tuple) => tuple.elems.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !left_out(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if left_out(&item.attrs) {
            return;
        }
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
            _ => None,
        };
        let owner = std::mem::replace(&mut self.owner, owner);
        visit::visit_item_impl(self, item);
        self.owner = owner;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !left_out(&item.attrs) {
            self.function(&item.sig.ident.to_string(), |reader| {
                visit::visit_item_fn(reader, item)
            });
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !left_out(&item.attrs) {
            self.function(&item.sig.ident.to_string(), |reader| {
                visit::visit_impl_item_fn(reader, item)
            });
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_none() {
            visit::visit_item_macro(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if !left_out(&item.attrs) {
            let orders = self.mentions(|reader| reader.visit_expr(&item.expr));
            self.bind(&[item.ident.to_string()], &orders);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !left_out(&local.attrs) {
            let orders = self.mentions(|reader| visit::visit_local(reader, local));
            self.bind(&names(&local.pat), &orders);
        }
    }

    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        // Whatever it holds, it hides what has had this name.
        self.bound.remove(&name.ident.to_string());
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        match &branch.else_branch {
            _ if !is_mutant(&branch.cond) => visit::visit_expr_if(self, branch),
            Some((_, otherwise)) => self.visit_expr(otherwise),
            None => {}
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if left_out(&call.attrs) {
            return;
        }
        let _ = self.mentions(|reader| reader.visit_expr(&call.receiver));
        self.call(
            &call.method.to_string(),
            call.method.span(),
            call.args.iter(),
        );
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if left_out(&call.attrs) {
            return;
        }
        let name = match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
            _ => None,
        };
        self.call(&name.unwrap_or_default(), call.span(), call.args.iter());
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some(last) = path.path.segments.last() else {
            return;
        };
        let last = last.ident.to_string();
        if path.path.segments.len() > 1 {
            let of = &path.path.segments[path.path.segments.len() - 2].ident;
            if of == "Ordering"
                && let Some(order) = Order::named(&last)
            {
                self.mention(&[order]);
            }
        } else if let Some(orders) = self.bound.get(&last).cloned() {
            self.mention(&orders);
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let name = mac
            .path
            .segments
            .last()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        let text = mac.tokens.to_string();
        if name == "ordering" {
            let last = text.rsplit(',').next().unwrap_or_default();
            let order = Order::named(last.trim());
            self.mention(order.as_slice());
            return;
        }
        if name == "cfg" {
            return;
        }
        match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone()) {
            Ok(args) => {
                for arg in &args {
                    self.visit_expr(arg);
                }
            }
            Err(_) if text.contains("Ordering ::") => {
                self.unreadable = Some(mac.span().start().line)
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Site, of_file};

    fn found(text: &str) -> Vec<String> {
        let sites = of_file("a.rs", text).expect("it can be read");
        let shown = |s: &Site| {
            format!(
                "{} {} {}:{} {} {}",
                s.function, s.access, s.line, s.column, s.place, s.order
            )
        };
        sites.iter().map(shown).collect()
    }

    #[test]
    fn accesses_are_found_where_they_are_called() {
        let text = "impl<T> Word<T> {\n    fn look(&self) -> u32 {\n        self.0\n            .load(Ordering::Acquire)\n    }\n}\n";
        assert_eq!(found(text), ["Word::look load 4:14 0 Acquire"]);
        let text = "fn f() {\n    a.load(Ordering::Relaxed);\n    a.store(b.swap(1, Ordering::AcqRel), Ordering::Release);\n    a.store(0, Ordering::Release);\n}\n";
        let expected = [
            "f swap 3:15 0 AcqRel",
            "f store 3:7 0 Release",
            "f store#2 4:7 0 Release",
        ];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn a_failed_exchange_has_a_place_of_its_own() {
        let text =
            "fn f() {\n    a.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Acquire);\n}\n";
        assert_eq!(found(text), ["f compare_exchange 2:7 1 Acquire"]);
    }

    #[test]
    fn names_and_macros_stand_for_orderings() {
        let text = "fn f() {\n    #[cfg(not(terrace_weaken = \"x\"))]\n    const A: Ordering = Ordering::Acquire;\n    #[cfg(terrace_weaken = \"x\")]\n    const A: Ordering = Ordering::Relaxed;\n    a.load(A);\n    a.load(ordering!(\"y\", Acquire));\n    unless_weakened!(\"z\", heavy());\n}\n";
        let expected = [
            "f load 6:7 0 Acquire",
            "f load#2 7:7 0 Acquire",
            "f heavy 8:27 0 SeqCst",
        ];
        assert_eq!(found(text), expected);
        let text = "fn f() {\n    let (set, found) = if cfg!(terrace_weaken = \"x\") {\n        (Ordering::Relaxed, Ordering::Relaxed)\n    } else {\n        (Ordering::AcqRel, Ordering::Acquire)\n    };\n    a.compare_exchange(0, 1, set, found);\n}\n";
        let expected = [
            "f compare_exchange 7:7 0 AcqRel",
            "f compare_exchange 7:7 1 Acquire",
        ];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn a_name_may_be_hidden() {
        let text = "fn f() {\n    const A: Ordering = Ordering::Acquire;\n    f().map(|A| A);\n}\n";
        assert!(found(text).is_empty());
    }

    #[test]
    fn tests_and_mutants_are_left_out() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() {\n        a.load(Ordering::Acquire);\n    }\n}\nfn g() {\n    if cfg!(terrace_weaken = \"x\") {\n        a.store(0, Ordering::Release);\n    }\n}\n";
        assert!(found(text).is_empty());
        assert!(of_file("a.rs", "fn f() { odd!(a => b.load(Ordering::Acquire)); }\n").is_err());
    }
}
