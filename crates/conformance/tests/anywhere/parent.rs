//! The process that runs the others, one a cell, and compares their ends with the table.

use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use terrace_testing::this_program;

use crate::cell::{Act, Cell, Outcome};
use crate::world::{self, HANGS};

/// The variable that names the cell of a process.
pub(crate) const CELL: &str = "TERRACE_CELL";
/// Options of AddressSanitizer.
const SANITIZER: &str = "ASAN_OPTIONS";
/// Processes that run at once.
const AT_ONCE: usize = 2;
/// How much longer than its own watchdog a process may take: that one may hang, too.
const LATER: Duration = Duration::from_secs(5);
/// How often the parent checks whether a process has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Runs all `cells`, prints those that end otherwise than the table says, and returns their number.
pub(crate) fn run(cells: &[Cell]) -> usize {
    let start = Instant::now();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(text) = check(cell) {
                        println!("{cell}: {text}");
                        wrong.lock().expect("no panic under it").push(cell);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic under it");
    println!(
        "block anywhere: {} of {} cells end as documented, {:.1} s",
        cells.len() - wrong.len(),
        cells.len(),
        start.elapsed().as_secs_f64()
    );
    for cell in &wrong {
        println!("    {cell}");
    }
    wrong.len()
}

/// Runs one cell, and returns the fault of its end.
fn check(cell: Cell) -> Result<(), String> {
    let mut command = this_program();
    if cell.act == Act::Exit {
        // A process that exits in the middle leaves memory behind, which is no leak.
        let options = std::env::var(SANITIZER).unwrap_or_default();
        command.env(SANITIZER, format!("{options}:detect_leaks=0"));
    }
    let mut child = command
        .env(CELL, cell.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process can be started");
    let said = reader(child.stdout.take().expect("piped"));
    let complained = reader(child.stderr.take().expect("piped"));
    let status = wait(&mut child);
    let said = said.join().expect("reading does not panic");
    let complained = complained.join().expect("reading does not panic");
    let Some(status) = status else {
        return Err(format!(
            "hangs, and its watchdog does\n{}",
            indented(&complained)
        ));
    };
    let right = match cell.expected() {
        Outcome::Completes => status.success() && said.trim() == "completes",
        Outcome::Refused(text) => {
            status.success() && said.starts_with("refused: ") && said.contains(text)
        }
        Outcome::Exits(code) => status.code() == Some(code),
    };
    if right {
        return Ok(());
    }
    Err(format!(
        "{}, and not {:?}\n{}",
        describe(status, &said),
        cell.expected(),
        indented(&complained)
    ))
}

fn describe(status: ExitStatus, said: &str) -> String {
    match status.code() {
        Some(HANGS) => "hangs".to_owned(),
        Some(0) => said.trim().to_owned(),
        Some(code) => format!("fails with code {code}"),
        None => format!("is aborted ({status})"),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    | {line}\n")).collect()
}

/// Reads to the end, beside the process: it must not wait for its reader.
fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output read before an error is reported all the same.
        let _read = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process; `None` if it had to be killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < world::patience() + LATER {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return Some(status);
        }
        thread::sleep(LOOK);
    }
    child.kill().expect("it is a child");
    child.wait().expect("it is a child");
    None
}
