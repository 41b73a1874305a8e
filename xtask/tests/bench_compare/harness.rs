//! A bench program of the fixture: it speaks criterion's command line and writes its `sample.json`, with
//! times that are looked up instead of measured.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Lists the benches or runs one; `cost` gives the nanoseconds of an id.
pub fn main(ids: &[&str], cost: fn(&str) -> f64) {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|arg| arg == "--list") {
        for id in ids {
            println!("{id}: benchmark");
        }
        return;
    }
    let at = args.iter().position(|arg| arg == "--exact").expect("one bench is asked for");
    let id = &args[at + 1];
    assert!(ids.contains(&id.as_str()), "there is no {id}");
    if let Ok(log) = std::env::var("FIXTURE_LOG") {
        let mut log = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        writeln!(log, "{id}").expect("there is room");
    }
    if let Ok(millis) = std::env::var("FIXTURE_SLEEP_MS") {
        std::thread::sleep(Duration::from_millis(millis.parse().expect("a number")));
    }
    eprintln!("Benchmarking {id}: Collecting 10 samples in estimated 1 ms (10 iterations)");
    let cost = cost(id) * noise();
    eprintln!("Benchmarking {id}: Analyzing");
    let home = std::env::var("CRITERION_HOME").expect("the home is given");
    let dir = Path::new(&home).join(id.replace('/', "_")).join("new");
    std::fs::create_dir_all(&dir).expect("the home is writable");
    let times = vec![cost.to_string(); 10].join(",");
    let iters = vec!["1.0"; 10].join(",");
    let sample = format!(r#"{{"sampling_mode":"Flat","iters":[{iters}],"times":[{times}]}}"#);
    std::fs::write(dir.join("sample.json"), sample).expect("the home is writable");
}

/// About 1, up to half a percent off.
fn noise() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970");
    let scrambled = (now.as_nanos() as u64 ^ u64::from(std::process::id())).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    1.0 + (f64::from((scrambled >> 40) as u32) / f64::from(1_u32 << 24) - 0.5) / 100.0
}
