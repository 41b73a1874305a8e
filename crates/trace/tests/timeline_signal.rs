//! A signal writes the timeline. One test, as the handler is that of the process.
#![cfg(all(unix, feature = "signal"))]

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use terrace_trace::timeline;

/// `SIGUSR2` on Linux and on most others.
const SIGNAL: i32 = if cfg!(target_os = "macos") { 31 } else { 12 };

#[test]
fn a_signal_writes_the_timeline() {
    let path = std::env::temp_dir().join(format!("terrace-signal-{}.json", std::process::id()));
    timeline::write_on_signal(SIGNAL, path.clone()).unwrap();
    terrace_trace::steal(5);
    let kill = format!("kill -{SIGNAL} {}", std::process::id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    let written = loop {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.ends_with("]}\n") {
            break text;
        }
        sleep(Duration::from_millis(5));
    };
    assert!(written.contains("\"amount\":5"));
    std::fs::remove_file(&path).unwrap();
}
