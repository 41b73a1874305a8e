//! Rule: what a command wrote into a page is not edited by hand.

use std::path::Path;

use super::Finding;
use crate::report::generated;

pub(super) fn check(path: &Path, text: &str) -> Option<Finding> {
    if path.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    generated::check(text).map(|broken| Finding::error(path, broken.line, broken.what))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check;
    use crate::report::generated::replace;

    #[test]
    fn an_edited_part_is_found() {
        let page = replace("# Title", "cargo xtask page", "measured: 7").expect("no part yet");
        assert_eq!(check(Path::new("docs/a.md"), &page), None);
        let edited = page.replace('7', "6");
        assert!(check(Path::new("docs/a.md"), &edited).is_some());
        assert_eq!(check(Path::new("docs/a.rs"), &edited), None);
    }
}
