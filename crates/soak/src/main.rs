//! The soak program: `terrace-soak SECONDS SEED FIRST_ROUND`.

use std::process::ExitCode;

#[cfg(not(any(terrace_loom, terrace_shuttle)))]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some(&[seconds, seed, round]) = numbers.as_deref() else {
        eprintln!("usage: terrace-soak SECONDS SEED FIRST_ROUND");
        return ExitCode::from(2);
    };
    let plan = terrace_soak::Plan {
        time: std::time::Duration::from_secs(seconds),
        seed,
        round,
    };
    match terrace_soak::run(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("soak: {fault}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(any(terrace_loom, terrace_shuttle))]
fn main() -> ExitCode {
    eprintln!("the soak needs real threads");
    ExitCode::FAILURE
}
