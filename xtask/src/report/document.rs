//! What a report says, before it has a form: the terminal, Markdown and HTML render the same parts.

use super::model::{Judgement, Verdict};

/// A report with a conclusion.
pub(crate) struct Document {
    pub(crate) title: String,
    /// What colours the conclusion.
    pub(crate) tone: Verdict,
    /// The conclusion, and what to do next; what stands between backticks is a command.
    pub(crate) lead: [String; 2],
    pub(crate) parts: Vec<Part>,
}

/// A piece of a report.
pub(crate) enum Part {
    Text(String),
    Warning(String),
    Table(Table),
    /// A folded list of benches or words, with what is said of each.
    List {
        title: String,
        items: Vec<(Cell, String)>,
    },
}

/// Rows of cells below a header.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// Whether Markdown folds it.
    pub(crate) folded: bool,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Stands below the table.
    pub(crate) note: String,
}

/// As many cells as the header has.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// A drawn interval for each metric: HTML alone shows them.
    pub(crate) plot: Vec<Judgement>,
}

/// A word or a figure.
pub(crate) enum Cell {
    /// The name of a bench.
    Name(String),
    Word(String),
    Figure(String),
    /// The words of the metrics, and the verdict that weighs most.
    Verdict(String, Option<Verdict>),
}

impl Cell {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Name(text) | Self::Word(text) | Self::Figure(text) | Self::Verdict(text, _) => {
                text
            }
        }
    }
}

impl Table {
    /// A table that stands open.
    pub(crate) fn new(title: impl Into<String>, header: &[&str]) -> Self {
        Self {
            title: title.into(),
            header: header.iter().map(|&name| name.to_owned()).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, cells: Vec<Cell>) {
        let plot = Vec::new();
        self.rows.push(Row { cells, plot });
    }
}

/// The pieces of a text, and whether each is a command.
pub(super) fn spans(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| (index % 2 == 1, part))
}

/// Without what moves a terminal's cursor or changes its colours, and is forbidden in a page.
pub(super) fn printable(text: &str) -> String {
    let is_shown = |c: char| c == '\n' || !c.is_control();
    text.replace(|c| !is_shown(c), "\u{fffd}")
}
