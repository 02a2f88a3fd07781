//! Words and beginnings of secrets as data: `crates/policy/secrets/*.txt`, read when
//! first asked for.

use std::{collections::HashSet, sync::LazyLock};

const WORDS: &str = include_str!("../../secrets/words.txt");

/// The vendors' keys, one in a line.
pub(super) const VENDORS: &str = include_str!("../../secrets/vendors.txt");

/// The words of one list.
#[derive(Debug, Default)]
pub(super) struct List {
    in_order: Vec<String>,
    all: HashSet<String>,
}

impl List {
    pub(super) fn has(&self, word: &str) -> bool {
        self.all.contains(word)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.in_order.iter().map(String::as_str)
    }

    /// Whether a text begins with one of them.
    pub(super) fn begins(&self, text: &str) -> bool {
        self.iter().any(|begin| text.starts_with(begin))
    }
}

fn read(name: &str) -> List {
    let line = WORDS.lines().find_map(|line| {
        let (found, words) = line.strip_prefix("list ")?.split_once(' ')?;
        (found == name).then_some(words)
    });
    let words = line.into_iter().flat_map(str::split_whitespace);
    let in_order: Vec<String> = words.map(|word| word.replace('␣', " ")).collect();
    let all = in_order.iter().cloned().collect();
    List { in_order, all }
}

macro_rules! lists {
    ($($list:ident $name:literal)*) => {
        $(pub(super) static $list: LazyLock<List> = LazyLock::new(|| read($name));)*

        #[cfg(test)]
        static ALL: &[(&str, &LazyLock<List>)] = &[$(($name, &$list)),*];
    };
}

lists! {
    NAMES "names"
    SERVICES "services"
    SPOKEN "spoken"
    SHORT "short"
    FOREIGN "foreign"
    OTHER "other"
    LOOKED_UP "looked-up"
    FINGERPRINTED "fingerprinted"
    WIELDED "wielded"
    MADE_UP "made-up"
    SPEECH "speech"
    STAND_INS "stand-ins"
    STAND_IN_BEGINS "stand-in-begins"
    STAND_IN_HOLDS "stand-in-holds"
    TYPES "types"
    REFERENCES "references"
    SCHEMES "schemes"
    TOLD "told"
    FETCHING "fetching"
    HOLDERS "holders"
    COOKIES "cookies"
    SETTING "setting"
    NETS "nets"
    NETS_6 "nets-6"
    STORES "stores"
    UUID_NAMES "uuid-names"
    TAKING "taking"
    JOINED "password-joined"
    BEHIND_P "password-p"
    BEHIND_A "password-a"
    BEHIND_W "password-w"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_list_that_is_asked_for_and_no_other() {
        let lists = WORDS.lines().filter_map(|line| line.strip_prefix("list "));
        let mut there: Vec<_> = lists.filter_map(|line| line.split(' ').next()).collect();
        let mut asked: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();
        there.sort_unstable();
        asked.sort_unstable();
        assert_eq!(there, asked);
        for (name, list) in ALL {
            assert_eq!(
                list.in_order.len(),
                list.all.len(),
                "{name}: a word is there twice"
            );
            assert!(!list.all.is_empty(), "{name}");
        }
        let odd = |line: &&str| !(line.is_empty() || line.starts_with(['#', 'l']));
        assert_eq!(WORDS.lines().find(odd), None);
    }
}
