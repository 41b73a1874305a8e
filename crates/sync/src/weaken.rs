//! The mutant of a model, chosen when the model starts: the variable `TERRACE_WEAKEN` has its name.

use std::string::String;
use std::sync::OnceLock;

/// Whether the model runs with the mutant `name`.
pub fn is_weakened(name: &str) -> bool {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    // Most models run without a mutant, and come here at each access.
    let chosen = CHOSEN.get_or_init(|| std::env::var("TERRACE_WEAKEN").ok());
    chosen.as_deref().is_some_and(|chosen| chosen == name)
}
