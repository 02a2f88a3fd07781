//! Lists of words, and those that stand for the values of an enum, each written once.

/// Whether a word is in a list of words, which is a text with blanks between them.
pub fn among(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Gives an enum its words: `as_str`.
#[macro_export]
macro_rules! words {
    ($kind:ident { $($value:ident = $word:literal,)+ }) => {
        impl $kind {
            /// The word in files, on the wire and on the page.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };
}

/// The same, with `ALL`, `Display` and `FromStr`; a wrong word is told what was expected.
macro_rules! words_read_back {
    ($kind:ident, $what:literal, $expected:literal { $($value:ident = $word:literal,)+ }) => {
        crate::words! { $kind { $($value = $word,)+ } }

        impl $kind {
            /// All of them, in their order.
            pub const ALL: [Self; [$($word,)+].len()] = [$(Self::$value,)+];
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $kind {
            type Err = crate::IdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.into_iter();
                let found = all.find(|one| one.as_str() == text);
                found.ok_or_else(|| crate::IdError::new($what, text, $expected))
            }
        }
    };
}

pub(crate) use words_read_back;
