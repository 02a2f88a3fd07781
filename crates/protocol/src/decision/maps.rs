//! Project maps on one card: what each file's map is and becomes, as lines that stay,
//! go and come. What is shown is all there is: both texts are read from it.

use serde::{Deserialize, Serialize};

/// What a person accepts together, or looks at one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapsSubject {
    pub files: Vec<MapChange>,
}

/// The map of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapChange {
    /// Below `.codebutler/`.
    pub file: String,
    /// Every line, behind a space when it stays, `-` when it goes, `+` when it comes.
    pub diff: String,
}

impl MapChange {
    /// The map as it stands now.
    pub fn before(&self) -> String {
        self.side('-')
    }

    /// The map as it stands then.
    pub fn after(&self) -> String {
        self.side('+')
    }

    fn side(&self, sign: char) -> String {
        let lines = self.diff.lines();
        let own: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix([' ', sign]))
            .collect();
        own.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_are_read_from_what_is_shown() {
        let change = MapChange {
            file: "coder.md".into(),
            diff: " Seen.\n \n-- `a`: x\n+- `b`: y".into(),
        };
        assert_eq!(change.before(), "Seen.\n\n- `a`: x");
        assert_eq!(change.after(), "Seen.\n\n- `b`: y");
        let new = MapChange {
            file: "pm.md".into(),
            diff: "+new".into(),
        };
        assert_eq!((new.before().as_str(), new.after().as_str()), ("", "new"));
    }
}
