//! `cargo xtask asan`: the tests of the layers under AddressSanitizer; leaks, too, where the suite runs.

use anyhow::Result;

use crate::sanitizer::{Canary, Run, Sanitizer};
use crate::workspace::Workspace;

/// The suite that drives all executors: it leaves nothing behind but what [`FOR_EVER`] names.
pub(crate) const WITH_LEAKS: [&str; 1] = ["conformance"];
/// The layers that manage memory by hand. Their own tests leak executors and forget drivers on purpose, everywhere, to see
/// what happens to the others then.
pub(crate) const WITHOUT_LEAKS: [&str; 5] = ["queue", "local", "thread", "executor", "fork"];

/// Names of functions are for the suppressions; `addr2line` comes with every linker.
const OPTIONS: &str = "allow_addr2line=1:detect_stack_use_after_return=1:detect_leaks";

/// Apple's systems have no search for leaks.
const FINDS_LEAKS: bool = cfg!(target_os = "linux");

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
    // SAFETY: there is none: this is the fault that has to be seen.
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

/// The sanitizer and what is run under it.
pub(crate) fn sanitizer(ws: &Workspace) -> Result<Sanitizer> {
    let list = ws.target.join("asan-leaks.txt");
    let lines = FOR_EVER.map(|(function, reason)| format!("# {reason}\nleak:{function}\n"));
    fs_err::create_dir_all(&ws.target)?;
    fs_err::write(&list, lines.concat())?;
    let leaks = format!("suppressions={}:print_suppressions=0", list.display());
    let options = |leaks: bool| ("ASAN_OPTIONS", format!("{OPTIONS}={}", u8::from(leaks)));
    Ok(Sanitizer {
        name: "asan",
        flags: ["-Zsanitizer=address", "--cfg terrace_asan"],
        runs: vec![
            Run {
                layers: &WITH_LEAKS,
                env: vec![options(FINDS_LEAKS), ("LSAN_OPTIONS", leaks)],
            },
            Run {
                layers: &WITHOUT_LEAKS,
                env: vec![options(false)],
            },
        ],
        canaries: &CANARIES[..1 + usize::from(FINDS_LEAKS)],
    })
}
