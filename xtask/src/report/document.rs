//! What a report says, before it has a form: the terminal and Markdown render the same parts.

use super::model::Verdict;

/// A report with a conclusion.
pub(crate) struct Document {
    pub(crate) title: String,
    /// Stands before the title in Markdown.
    pub(crate) mark: &'static str,
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
    /// Each of as many cells as the header has.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Stands below the table.
    pub(crate) note: String,
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
}
