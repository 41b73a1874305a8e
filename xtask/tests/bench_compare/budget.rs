//! What is not asked for is not built, and what has a verdict is not measured further.

use std::collections::BTreeMap;

use crate::fixture::{COSTS, Fixture};

/// A program called like a layer, beside ones that do not build.
#[test]
fn of_a_layer_only_its_programs_are_built() {
    let fixture = Fixture::new();
    fixture.costs(120.0);
    for (name, text) in [
        (
            "alpha",
            &*format!(
                "fn main() {{ fixture_benches::main(&[\"{}\"], code::cost); }}\n",
                COSTS[0]
            ),
        ),
        ("instr_alpha", "no Rust"),
        ("costs", "no Rust"),
        (
            "gamma",
            "fn main() { fixture_benches::main(&[\"gamma/b/ours/1\"], |_| 7.0); }\n",
        ),
    ] {
        fixture.write(&format!("benches/benches/{name}.rs"), text);
        let target = format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n");
        if name != "costs" {
            fixture.append("benches/Cargo.toml", &target);
        }
    }
    // BASE has no program of that name: there all are built, and this one is found in another.
    let ended = fixture.compare(&["start", "--layer=alpha"]);
    ended.fails(1, &["slower", COSTS[0]]);
    assert_eq!(fixture.result().0["removed"][0], COSTS[1]);
    ended.says("building alpha\n");

    // A further layer is built when it is asked for; what is there is kept.
    fixture.commit("programs of layers");
    let layers = ["HEAD", "HEAD", "--layer=alpha", "--layer=gamma"];
    let ended = fixture.compare(&layers);
    ended.succeeds();
    ended.says("building gamma\n");
    let again = fixture.compare(&layers);
    assert!(!again.stderr.contains("building"), "{}", again.stderr);
    fixture
        .compare(&["HEAD", "HEAD", "--layer=alpha", "--metric=instr"])
        .fails(3, &["cargo bench"]);
    fixture
        .compare(&["HEAD", "--layer=beta"])
        .fails(3, &["cargo bench"]);
}

/// Where programs require features, they are built with these alone if the manifest says so.
#[test]
fn programs_are_built_with_the_features_that_they_require() {
    let fixture = Fixture::new();
    let program = "#[cfg(feature = \"slow\")]\ncompile_error!(\"slow is not asked for\");\nfn main() { fixture_benches::main(&[\"delta/a/ours/1\"], |_| \
                   7.0); }\n";
    fixture.write("benches/benches/delta.rs", program);
    let manifest = "[package]\nname = \"fixture-benches\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[features]\ndefault = [\"slow\"]\n\
                    slow = []\nquick = []\n\n[dev-dependencies]\ncode = { path = \"../code\" }\n\n[lib]\nbench = false\n\n[[bench]]\nname = \"delta\"\nharness = false\n\
                    required-features = [\"quick\"]\n";
    fixture.write("benches/Cargo.toml", manifest);
    fixture.commit("a program with features");
    let args = ["HEAD", "HEAD", "--layer=delta"];
    // Without its feature cargo leaves the program out.
    fixture
        .compare(&args)
        .fails(2, &["no bench is on both sides"]);
    fixture.append(
        "benches/Cargo.toml",
        "\n[package.metadata.bench-compare]\ndefault-features = false\n",
    );
    fixture.commit("programs that need no others");
    fixture.compare(&args).succeeds();
    // The arguments of a side choose as they say.
    fixture
        .compare(&[
            "HEAD",
            "HEAD",
            "--layer=delta",
            "--head-arg=--features=slow,quick",
        ])
        .fails(3, &["--features=slow,quick"]);
}

#[test]
fn a_budget_goes_where_a_verdict_is_missing() {
    let fixture = Fixture::new();
    fixture.noise();
    fixture.commit("noise");
    let usual = ["main", "--aa", "--rounds=6"];
    fixture.compare(&usual).succeeds();
    let runs = || {
        let runs = fixture.runs().into_iter();
        let runs = runs.map(|run| serde_json::from_str(&run).expect("it is JSON"));
        runs.collect::<Vec<serde_json::Value>>()
    };
    let rounds = || {
        let mut rounds: BTreeMap<String, u64> = BTreeMap::new();
        for run in runs() {
            let id = run["id"].as_str().expect("a string").to_owned();
            let last = rounds.entry(id).or_default();
            *last = run["round"].as_u64().expect("a number").max(*last);
        }
        rounds
    };
    // What was measured so far and a little more: enough for a round, however slow the machine is.
    let go_on = |more: f64| {
        let seconds = runs()
            .iter()
            .filter_map(|run| run["seconds"].as_f64())
            .sum::<f64>();
        let budget = format!("--budget={}", (seconds + more) / 60.0);
        let args = [&usual[..], &["--resume", &budget]].concat();
        fixture.compare(&args).succeeds();
    };
    go_on(1.0);
    let first = rounds();
    assert_eq!((first[COSTS[1]], first[COSTS[2]]), (6, 6));
    assert!(first[COSTS[0]] > 6, "{first:?}");
    let result = fixture.result();
    let used = result.0["benches"][0]["results"][0]["rounds"].as_array();
    assert_eq!(used.expect("an array").len() as u64, first[COSTS[0]]);

    // A little less than was used.
    go_on(-0.01);
    assert_eq!(rounds(), first, "nothing is left of the budget");
    go_on(1.0);
    assert!(rounds()[COSTS[0]] > first[COSTS[0]], "{first:?}");
    fixture
        .compare(&["main", "--budget=0"])
        .fails(2, &["minutes"]);
}
