//! What each team has learned, and what is known of each learning.

use butler_protocol::LearningFigures;

use crate::{
    error::Result,
    store::{Db, params},
};

/// The learnings of one repository.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TeamMemory {
    pub(crate) repo: String,
    pub(crate) figures: Vec<LearningFigures>,
    /// When they were counted.
    pub(crate) told_ms: i64,
}

/// Keeps what was counted last.
pub(crate) fn keep(db: &Db, repo: &str, figures: &[LearningFigures]) -> Result<()> {
    let text = serde_json::to_string(figures).unwrap_or_else(|_| "[]".to_owned());
    db.run(
        "INSERT INTO memory (repo, figures, told_ms) VALUES (?1, ?2, ?3)
         ON CONFLICT (repo) DO UPDATE SET figures = excluded.figures, told_ms = excluded.told_ms",
        params![repo, text, db.now_ms()],
    )
}

/// Every team's, by repository.
pub(crate) fn all(db: &Db) -> Result<Vec<TeamMemory>> {
    let sql = "SELECT repo, figures, told_ms FROM memory ORDER BY repo";
    let rows = db.rows::<(String, String, i64)>(sql, [])?.into_iter();
    let teams = rows.map(|(repo, figures, told_ms)| TeamMemory {
        repo,
        figures: serde_json::from_str(&figures).unwrap_or_default(),
        told_ms,
    });
    Ok(teams.collect())
}
