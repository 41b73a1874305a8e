//! What the timeline knows of children of scopes. It is that of the whole process, so this program has one test.
#![cfg(feature = "timeline")]

use terrace_executor::Builder;
use terrace_fork::scope;
use terrace_trace::timeline;

#[test]
fn children_have_the_line_that_spawned_them() {
    let executor = Builder::new().workers(2).build();
    let line = line!() + 3;
    scope(&executor, |scope| {
        for _ in 0..10 {
            scope.spawn(async {});
            scope.spawn(|| ());
        }
    });
    let mut trace = Vec::new();
    timeline::snapshot().write_chrome(&mut trace).unwrap();
    let trace = String::from_utf8(trace).unwrap();
    let polls = |line: u32| {
        let site = format!("\"site\":\"{}:{line}:", file!());
        let polls = trace
            .lines()
            .filter(|event| event.contains(&site) && event.contains("\"cat\":\"poll\""));
        polls.count()
    };
    assert_eq!([polls(line), polls(line + 1)], [10, 10]);
    assert!(!trace.contains("crates/fork/src") && !trace.contains("crates/executor/src"));
}
