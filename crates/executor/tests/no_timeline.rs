//! Without the feature the timeline leaves nothing: no code in the program, and no byte in a cell.
#![cfg(not(feature = "timeline"))]

use terrace_executor::{Builder, block_on};
use terrace_local::task::Meta;
use terrace_trace::Mark;

/// Whether the text is somewhere in this program, its symbols included.
fn program_has(text: &str) -> bool {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    program.windows(text.len()).any(|at| at == text.as_bytes())
}

#[test]
fn without_the_feature_there_is_no_timeline() {
    let executor = Builder::new().workers(1).build();
    assert_eq!(block_on(executor.spawn(async { 1 })), 1);
    const { assert!(!terrace_trace::TIMELINE) };
    assert_eq!(size_of::<Mark>(), 0);
    assert_eq!(size_of::<Meta>(), size_of::<usize>());
    if cfg!(target_os = "linux") {
        assert!(program_has("terrace_executor"), "the program has symbols");
        // Apart, so that this text itself is not found.
        let [layer, module] = ["terrace_trace", "8timeline"];
        assert!(!program_has(&format!("{layer}{module}")));
    }
}
