//! jwalk: it reads directories on rayon's pool, and hands out the entries in order.

use std::fs;
use std::path::{Path, PathBuf};

use jwalk::WalkDir;

use crate::{Failure, checksum, number};

/// A directory that goes with the value.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Result<Self, Failure> {
        let root = std::env::temp_dir().join(format!("rayon-programs-{}", std::process::id()));
        let tree = Self(root);
        fill(&tree.0, 0, 1)?;
        Ok(tree)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

/// Makes a directory with files and, to some depth, directories.
fn fill(directory: &Path, depth: u64, seed: u64) -> Result<(), Failure> {
    fs::create_dir_all(directory)?;
    for file in 0..number(seed) % 7 {
        let length = number(seed + file) as usize % 50;
        fs::write(directory.join(format!("file-{file}")), vec![b'x'; length])?;
    }
    if depth < 4 {
        for child in 0..4 {
            let name = format!("directory-{child}");
            fill(&directory.join(name), depth + 1, seed * 5 + child)?;
        }
    }
    Ok(())
}

pub(crate) fn run() -> Result<(), Failure> {
    let tree = Tree::new()?;
    for (hidden, depth) in [(true, usize::MAX), (false, 3)] {
        let (mut entries, mut bytes, mut names) = (0, 0, Vec::new());
        let walk = WalkDir::new(&tree.0).sort(true).skip_hidden(hidden);
        for entry in walk.max_depth(depth) {
            let entry = entry?;
            entries += 1;
            if entry.file_type().is_file() {
                bytes += entry.metadata()?.len();
            }
            let path = entry.path();
            names.extend(path.strip_prefix(&tree.0)?.as_os_str().as_encoded_bytes());
            names.push(b'\n');
        }
        println!("{entries} entries, {bytes} bytes, {:016x}", checksum(names));
    }
    Ok(())
}
