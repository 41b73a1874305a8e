//! Writes a timeline: as a trace, as a page, into a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::taken::Timeline;
use super::{chrome, spans};

impl Timeline {
    /// Writes a trace in Chrome's JSON format. [Perfetto](https://ui.perfetto.dev) opens it, and `cargo xtask timeline` makes the page of
    /// [`write_html`](Self::write_html) out of it. Flows lead from each wake to the poll that it caused.
    ///
    /// Cost: about 150 bytes and a microsecond an event. Many small writes: give it a [`BufWriter`].
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// terrace_trace::park();
    /// let mut json = Vec::new();
    /// terrace_trace::timeline::snapshot().write_chrome(&mut json)?;
    /// assert!(!json.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_chrome(&self, out: &mut impl Write) -> io::Result<()> {
        chrome::write(&spans::picture(self), out)
    }

    /// Writes a page that shows the timeline in a browser: one file that needs no other. Cost: about 8 bytes and a fraction of a microsecond
    /// an event.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// terrace_trace::park();
    /// let mut page = Vec::new();
    /// terrace_trace::timeline::snapshot().write_html(&mut page)?;
    /// assert!(page.starts_with(b"<!"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        spans::picture(self).write_page(out)
    }

    /// Writes a file: the page if the path ends in `.html`, else the trace.
    ///
    /// # Errors
    /// Those of creating and writing the file.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use terrace_trace::timeline;
    ///
    /// let page = std::env::temp_dir().join("timeline.html");
    /// timeline::snapshot().write_file(page)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let mut out = BufWriter::new(File::create(path)?);
        match path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            true => self.write_html(&mut out)?,
            false => self.write_chrome(&mut out)?,
        }
        out.flush()
    }
}
