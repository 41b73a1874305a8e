//! No file names a machine: no registry host, no absolute path of somebody's home or scratch space.

use std::path::Path;

use super::Finding;

/// Written in halves, so that this file passes its own rule.
const HOSTS: [&str; 8] = [
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("proxy.", "golang.org"),
    concat!("registry.", "npmjs"),
    concat!("deb.", "debian.org"),
    concat!("pypi", ".org"),
    concat!("local", "host:"),
    concat!("127.0", ".0.1"),
];
const PLACES: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/t", "mp/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];
/// The only source a lock file may name.
const LOCK_SOURCE: &str = concat!("registry+https://github.com/rust-lang/", "crates.io-index");

pub(super) fn check(path: &Path, text: &str) -> Vec<Finding> {
    let is_lock = path.file_name().is_some_and(|n| n == "Cargo.lock");
    let is_config = path.components().any(|c| c.as_os_str() == ".cargo");
    let mut findings = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let mut add = |what: String| findings.push(Finding::error(path, line + 1, what));
        if let Some(host) = HOSTS.iter().find(|h| text.contains(**h)) {
            add(format!("names a host: `{host}`"));
        }
        if let Some(place) = PLACES.iter().find(|p| starts_path(text, p)) {
            add(format!("names a place on one machine: `{place}…`"));
        }
        if is_lock && text.starts_with("source = ") && !text.contains(LOCK_SOURCE) {
            add("a package from another registry".to_owned());
        }
        if is_config && (text.starts_with("[source") || text.starts_with("[registr")) {
            add("the registry is each machine's own matter".to_owned());
        }
    }
    findings
}

/// Whether an absolute path starts with `place` in `text`: not the middle of a longer one.
fn starts_path(text: &str, place: &str) -> bool {
    text.match_indices(place).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~$}*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check;

    fn found(path: &str, text: &str) -> usize {
        check(Path::new(path), text).len()
    }

    #[test]
    fn hosts_and_places_are_found() {
        assert_eq!(
            found("a.md", concat!("see https://index.", "crates.io/x")),
            1
        );
        assert_eq!(found("a.rs", concat!("open(\"/t", "mp/x\")")), 1);
        assert_eq!(
            found("a.rs", concat!("// in /ro", "ot/x and ./wo", "rk/")),
            1
        );
    }

    #[test]
    fn relative_and_system_paths_pass() {
        assert_eq!(
            found("a.rs", "/usr/lib/rustlib, target/tmp/x, a/work/b, $HOME/x"),
            0
        );
        assert_eq!(found("README.md", "[patch.crates-io]"), 0);
    }

    #[test]
    fn lock_and_config_name_the_public_registry_alone() {
        let good = concat!(
            "source = \"registry+https://github.com/rust-lang/",
            "crates.io-index\""
        );
        assert_eq!(found("Cargo.lock", good), 0);
        assert_eq!(
            found("Cargo.lock", "source = \"registry+https://mirror/index\""),
            1
        );
        assert_eq!(found(".cargo/config.toml", "[source.crates-io]"), 1);
        assert_eq!(found(".cargo/config.toml", "[alias]"), 0);
    }
}
