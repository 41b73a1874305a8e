//! `cargo xtask asan`: the tests of the layers under AddressSanitizer, leaks included.

use anyhow::{Context, Result};

use crate::sanitizer::{self, Canary, Sanitizer, SanitizerArgs};
use crate::workspace::Workspace;

/// The layers that manage memory by hand, and the suite that drives all of them.
const LAYERS: [&str; 6] = [
    "queue",
    "local",
    "thread",
    "executor",
    "fork",
    "conformance",
];

/// Names of functions are for the suppressions; `addr2line` comes with every linker.
const OPTIONS: &str = "detect_leaks=1:allow_addr2line=1:detect_stack_use_after_return=1";

/// Functions whose allocations are meant to live as long as the program, and why.
const FOR_EVER: [(&str, &str); 2] = [
    (
        "try_build_static",
        "a static executor is never dropped; tests do not keep its handle",
    ),
    (
        "panics::Chain",
        "of payloads whose destructors panic, the second is forgotten",
    ),
];

const CANARIES: [Canary; 2] = [
    Canary {
        fault: "use after free",
        source: "//! Reads what it freed.
fn main() {
    let number = Box::new(std::process::id());
    let freed = &raw const *number;
    drop(number);
    println!(\"{}\", unsafe { freed.read_volatile() });
}
",
        code: 1,
        report: "heap-use-after-free",
    },
    Canary {
        fault: "leak",
        source: "//! Forgets where a box is.
fn main() {
    for n in 0..100 { std::mem::forget(std::hint::black_box(Box::new(n))); }
}
",
        code: 1,
        report: "detected memory leaks",
    },
];

/// Runs them.
pub(crate) fn run(ws: &Workspace, args: &SanitizerArgs) -> Result<()> {
    let list = ws.target.join("asan-leaks.txt");
    let lines = FOR_EVER.map(|(function, reason)| format!("# {reason}\nleak:{function}\n"));
    std::fs::create_dir_all(&ws.target)?;
    std::fs::write(&list, lines.concat())
        .with_context(|| format!("cannot write {}", list.display()))?;
    let leaks = format!("suppressions={}:print_suppressions=0", list.display());
    let sanitizer = Sanitizer {
        name: "asan",
        flag: "address",
        flags: "--cfg terrace_asan",
        layers: &LAYERS,
        env: vec![
            ("ASAN_OPTIONS", OPTIONS.to_owned()),
            ("LSAN_OPTIONS", leaks),
        ],
        canaries: &CANARIES,
    };
    sanitizer::run(ws, args, &sanitizer)
}
