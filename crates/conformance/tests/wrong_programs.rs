//! What the compiler says of programs that a new user writes wrong: each error names the mend.
#![cfg(not(any(
    terrace_loom,
    terrace_shuttle,
    terrace_tsan,
    terrace_asan,
    miri,
    target_family = "wasm"
)))]

use std::path::Path;
use std::process::Command;

/// A program, and what its error has to say.
struct Wrong {
    name: &'static str,
    program: &'static str,
    says: &'static [&'static str],
}

const WRONG: [Wrong; 12] = [
    Wrong {
        name: "a_child_without_a_type",
        program: "scope(&executor, |scope| scope.spawn(|_| ()));",
        says: &["`|worker: &Worker| { … }` with the type"],
    },
    Wrong {
        name: "a_child_with_a_result",
        program: "scope(&executor, |scope| scope.spawn(|| 5));",
        says: &["its output is `()`", "end it with `;`"],
    },
    Wrong {
        name: "a_future_with_a_result",
        program: "scope(&executor, |scope| scope.spawn(async { 5 }));",
        says: &["its output is `()`", "end it with `;`"],
    },
    Wrong {
        name: "a_child_of_another_kind",
        program: "scope(&executor, |scope| scope.spawn(5));",
        says: &["a scope cannot spawn", "write `|| { … }`"],
    },
    Wrong {
        name: "a_child_for_a_worker",
        program: "scope(&executor, |scope| scope.spawn_on(0, |_| ()));",
        says: &["`|worker: &Worker| { … }` with the type"],
    },
    Wrong {
        name: "a_local_child",
        program: "scope(&executor, |scope| scope.spawn_local(|_| ()));",
        says: &["`|worker: &Worker| { … }` with the type"],
    },
    Wrong {
        name: "a_closure_of_a_pool_without_a_type",
        program: "ThreadPool::new().spawn(|_| ());",
        says: &["`|worker: &Worker| { … }` with the type"],
    },
    Wrong {
        name: "a_closure_of_a_pool_with_a_result",
        program: "ThreadPool::new().spawn(|| 5);",
        says: &["the output of a closure is `()`", "await its handle"],
    },
    Wrong {
        name: "a_closure_of_a_worker",
        program: "executor.with_worker(|worker| worker.spawn(|_, _| ()));",
        says: &["a pool cannot spawn", "write `|| { … }`"],
    },
    Wrong {
        name: "a_local_closure_of_a_worker",
        program: "executor.with_worker(|worker| worker.spawn_local(|| 5));",
        says: &["the output of a closure is `()`", "await its handle"],
    },
    Wrong {
        name: "halves_without_types",
        program: "terrace_executor::join(|_| 1, |_| 2);",
        says: &["`join` cannot call", "write `join(|| …, || …)`"],
    },
    Wrong {
        name: "a_half_that_is_a_future",
        program: "terrace_executor::join(async { 1 }, || 2);",
        says: &["`join` cannot call", "write `join(|| …, || …)`"],
    },
];

/// The same verbs, written right.
const RIGHT: &str = "
    let mut sums = [0; 4];
    let [a, b, c, d] = &mut sums;
    scope(&executor, |scope| {
        scope.spawn(|| *a = 1);
        scope.spawn(|_: &Worker| *b = 2);
        scope.spawn_on(0, || *c = 3);
        scope.spawn_local(|| *d = 4);
    });
    let pool = ThreadPool::new();
    pool.spawn(|| ());
    executor.with_worker(|worker| {
        worker.spawn(|| ());
        worker.spawn_local(|| ());
    });
    terrace_executor::join(|| 1, || 2);
";

#[test]
fn the_errors_name_the_mend() {
    let layers = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder of layers");
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong-programs");
    let programs = project.join("examples");
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(project.join("src/lib.rs"), "").unwrap();
    let layer = |name: &str| format!("terrace-{name} = {{ path = {:?} }}\n", layers.join(name));
    let manifest = format!(
        "[package]\nname = \"wrong-programs\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{}{}",
        layer("executor"),
        layer("fork"),
    );
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(layers.join("../Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let right = Wrong {
        name: "right",
        program: RIGHT,
        says: &[],
    };
    for Wrong { name, program, .. } in WRONG.iter().chain([&right]) {
        let text = format!(
            "#![allow(unused_imports)]\nuse terrace_executor::{{Builder, Worker}};\nuse terrace_fork::{{ThreadPool, scope}};\n\
             fn main() {{\n    let executor = Builder::new().workers(1).build();\n    {program}\n}}\n"
        );
        std::fs::write(programs.join(format!("{name}.rs")), text).unwrap();
    }
    let check = |name: &str| {
        let checked = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline", "--example", name])
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", project.join("target"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs");
        (
            checked.status.success(),
            String::from_utf8_lossy(&checked.stderr).into_owned(),
        )
    };
    let (compiles, errors) = check("right");
    assert!(compiles, "{errors}");
    for Wrong { name, says, .. } in WRONG {
        let (compiles, errors) = check(name);
        assert!(!compiles, "{name} compiles");
        for text in says {
            assert!(
                errors.contains(text),
                "{name} says nothing of {text:?}:\n{errors}"
            );
        }
    }
}
