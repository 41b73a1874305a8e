//! The functions that the runner in JavaScript calls: the number of cases, their names, and each
//! case.
//!
//! A case that fails traps; the text of its panic was handed to `report` before.

use std::cell::RefCell;

use crate::kinds;

#[link(wasm_import_module = "runner")]
unsafe extern "C" {
    /// Takes UTF-8 text.
    safe fn report(text: *const u8, length: usize);
}

terrace_sync::thread_local! {
    /// Keeps the text that was handed out last.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn hand_out(text: String) {
    report(text.as_ptr(), text.len());
    TEXT.with(|kept| *kept.borrow_mut() = text);
}

/// The number of cases.
#[unsafe(no_mangle)]
extern "C" fn case_count() -> usize {
    kinds::all().len()
}

/// Reports the name of a case.
#[unsafe(no_mangle)]
extern "C" fn case_name(index: usize) {
    let case = &kinds::all()[index];
    hand_out(format!("{}: {}", case.kind, case.name));
}

/// Checks a case.
#[unsafe(no_mangle)]
extern "C" fn case_run(index: usize) {
    std::panic::set_hook(Box::new(|info| hand_out(info.to_string())));
    (kinds::all()[index].run)();
}
