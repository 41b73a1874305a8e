//! Instruction counts: programs that list a bench as gungraun's runner would here, with a valgrind that only runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Ended, Fixture, ended};

const COUNTED: &str = "alpha/function/ours/1-t1";

/// Prints a list of one bench, or what callgrind would write of it: it counts what `alpha/one/ours/1` costs.
const PROGRAM: &str = r##"fn main() {
    if std::env::args().any(|arg| arg == "--gungraun-run") {
        println!("totals: {}", code::cost("alpha/one/ours/1") * 1000.0);
    } else {
        print!("{}", r#"{"function":"function","name":"ours__1_t1","counted":"*","place":[0,0,0]}"#);
    }
}
"##;

/// Runs the program behind its arguments, and writes where callgrind would.
const VALGRIND: &str = "while true; do case $1 in --version) exit;; --callgrind-out-file=*) out=${1#*=};; \
                        -*) ;; *) break;; esac; shift; done; exec \"$@\" > \"$out\"";

/// A fixture with such a program.
fn counting() -> Fixture {
    let fixture = Fixture::new();
    fixture.append(
        "benches/Cargo.toml",
        "\n[[bench]]\nname = \"instr_alpha\"\nharness = false\n",
    );
    fixture.write("benches/benches/instr_alpha.rs", PROGRAM);
    fixture.commit("instructions");
    fixture.git(&["tag", "counting"]);
    program(fixture.path(), "target/fake/valgrind", VALGRIND);
    fixture
}

/// Makes a program that runs a line of shell.
fn program(root: &Path, path: &str, line: &str) {
    let path = root.join(path);
    let parent = path.parent().expect("it lies in the fixture");
    fs::create_dir_all(parent).expect("the fixture is writable");
    let status = Command::new("sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod +x "$1""#,
            "sh",
        ])
        .arg(&path)
        .arg(line)
        .status()
        .expect("sh starts");
    assert!(status.success());
}

/// Runs the command with the fixture's valgrind in front of the search path.
fn compare(fixture: &Fixture, args: &[&str]) -> Ended {
    let path = std::env::var("PATH").expect("there is a path");
    let tools = fixture.path().join("target/fake");
    let mut command = fixture.command(args);
    command.env("PATH", format!("{}:{path}", tools.display()));
    ended(command.output().expect("the command starts"))
}

#[test]
fn counts_gate_at_a_percent() {
    let fixture = counting();
    fixture.costs(102.0);
    let ended = compare(&fixture, &["counting", "--metric=instr"]);
    ended.fails(1, &["slower", COUNTED]);
    let result = fixture.result();
    assert_eq!(result.with_verdict("slower"), [COUNTED]);
    assert_eq!(result.0["benches"][0]["layer"], "alpha");
    // Four runs, and no bench was timed.
    assert_eq!(fixture.runs().len(), 4);

    // Nothing is counted twice, and a wider threshold lets it pass.
    let args = ["counting", "--metric=instr", "--resume", "--threshold=5"];
    compare(&fixture, &args).succeeds();
    assert_eq!(fixture.runs().len(), 4);
}

#[test]
fn the_same_program_is_not_counted() {
    let fixture = counting();
    let args = [
        "counting",
        "counting",
        "--metric=instr,wall",
        "--layer=alpha",
    ];
    compare(&fixture, &args).succeeds();
    assert!(fixture.result().identical().contains(&COUNTED));
    assert_eq!(fixture.runs(), [""; 0]);
}

#[test]
fn without_counting_programs_there_is_nothing_to_count() {
    let fixture = counting();
    compare(&fixture, &["start", "--metric=instr"]).fails(2, &["no bench"]);
}

#[test]
fn without_valgrind_it_says_so() {
    let fixture = counting();
    program(fixture.path(), "target/fake/valgrind", "exit 1");
    let ended = compare(&fixture, &["counting", "--aa", "--metric=instr"]);
    ended.fails(2, &["leave `instr` out", "valgrind"]);
}
