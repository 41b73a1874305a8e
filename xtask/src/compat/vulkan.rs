//! A Vulkan driver that renders in software: it draws the same on every machine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where the loader of Vulkan looks for the manifests of drivers.
const PLACES: [&str; 3] = [
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
];
/// The beginning of the name of lavapipe's manifest.
const LAVAPIPE: &str = "lvp_icd";
/// The variables by which the loader is told which driver to use, the newer one first.
const CHOICES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// What there is to do about a missing one.
pub(super) const NO_DRIVER: &str = "there is no Vulkan driver that renders in software; on Debian `apt-get install mesa-vulkan-drivers` \
     installs one, and VK_DRIVER_FILES may name the manifest of another";

/// By its manifest.
pub(super) struct Driver(PathBuf);

impl Driver {
    /// The one that the environment names, or else lavapipe.
    pub(super) fn find() -> Result<Self> {
        let named = CHOICES.iter().find_map(std::env::var_os);
        Self::find_in(named.map(PathBuf::from), &PLACES.map(Path::new))
    }

    fn find_in(named: Option<PathBuf>, places: &[&Path]) -> Result<Self> {
        if let Some(named) = named {
            return Ok(Self(named));
        }
        let files = places.iter().filter_map(|place| place.read_dir().ok());
        let mut files = files.flatten().flatten();
        let is_it = |name: &str| name.starts_with(LAVAPIPE) && name.ends_with(".json");
        let found = files.find(|file| file.file_name().to_str().is_some_and(is_it));
        Ok(Self(found.context(NO_DRIVER)?.path()))
    }

    /// For a program that is to use no other.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let driver = CHOICES.map(|choice| (choice, &*self.0));
        driver
            .into_iter()
            .chain([("WGPU_BACKEND", Path::new("vulkan"))])
    }

    /// In words.
    pub(super) fn name(&self) -> String {
        let file = self.0.file_name().unwrap_or_default().to_string_lossy();
        match file.starts_with(LAVAPIPE) {
            true => "Mesa's software driver lavapipe".to_owned(),
            false => format!("the driver of {file}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Driver;

    #[test]
    fn a_driver_is_found_named_or_missed() {
        let dir = tempfile::tempdir().expect("a directory");
        let places = [&*dir.path().join("none"), dir.path()];
        let write = |name: &str| fs_err::write(dir.path().join(name), "").expect("writable");
        write("intel_icd.x86_64.json");
        let error = Driver::find_in(None, &places).err().expect("none is there");
        assert!(error.to_string().contains("mesa-vulkan-drivers"), "{error}");
        write("lvp_icd.x86_64.json");
        let found = Driver::find_in(None, &places).expect("one is there");
        assert_eq!(found.name(), "Mesa's software driver lavapipe");
        assert_eq!(found.environment().count(), 3);
        let named = Driver::find_in(Some("a/swiftshader.json".into()), &[]).expect("named");
        assert_eq!(named.name(), "the driver of swiftshader.json");
    }
}
