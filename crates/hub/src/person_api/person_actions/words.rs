//! What a person's words decide: `approve <id>`, and a bare "yes", "no" or
//! "merge" where only one open card can be meant. The rules are the same for
//! the embedded workspace and for what is said in Slack.

use butler_policy::{Pick, Word, answer, is_stop, meanings};
use butler_protocol::{ChannelId, DecisionKind, MessageTs, StampKind, ThreadId, UserId};

use crate::{
    error::{Result, Trouble},
    identity::Person,
    store::Tx,
    workspace::{
        Click, Rules, access,
        decide::{self, Thumb},
    },
};

/// Something that a person said in a thread.
pub(crate) struct Said<'a> {
    pub(crate) person: &'a Person,
    pub(crate) channel: &'a ChannelId,
    /// The root of the thread; what begins one answers nothing.
    pub(crate) root: Option<&'a MessageTs>,
    /// When, if it was said a while ago: a card that came later is not meant.
    pub(crate) ts: Option<&'a MessageTs>,
    /// As it was typed, without Slack's escapes.
    pub(crate) text: &'a str,
}

/// Whether the text is one of the words that can answer a card.
pub(crate) fn is_bare(text: &str) -> bool {
    // A stop answers none, and must not wait for one.
    meanings(text).iter().any(|word| *word != Word::Stop) || Pick::read(text).is_some()
}

/// What a person's message is: an answer to a card has nothing left in it for a
/// model to read, and a stop is obeyed by everybody. `bot` is the app's own user.
pub(crate) fn kind_of(
    tx: &mut Tx<'_>,
    rules: &Rules,
    said: &Said<'_>,
    bot: &UserId,
) -> Result<StampKind> {
    if answered(tx, rules, said)? {
        return Ok(StampKind::Other);
    }
    if is_stop(said.text, Some(bot)) {
        return Ok(StampKind::Stop);
    }
    Ok(StampKind::Message)
}

/// Carries out what a bare word decides. True when it was an answer.
fn answered(tx: &mut Tx<'_>, rules: &Rules, said: &Said<'_>) -> Result<bool> {
    let clicks = match Pick::read(said.text) {
        Some(pick) => picked(tx, said, pick)?,
        None => click_meant(tx, said)?.into_iter().collect(),
    };
    let mut counts = false;
    for click in clicks {
        counts |= decided(tx, rules, said.person, &click)?;
    }
    Ok(counts)
}

/// The cards about what is remembered that the words pick: all that are open, or
/// one by its number, which the card says.
fn picked(tx: &Tx<'_>, said: &Said<'_>, pick: Pick) -> Result<Vec<Click>> {
    let Some(root) = said.root else {
        return Ok(Vec::new());
    };
    let thread = ThreadId::new(said.channel.clone(), root.clone());
    let mut cards = decide::of_thread(tx.db(), &thread)?;
    cards.retain(|card| said.ts.is_none_or(|ts| *ts > card.asked.message));
    cards.sort_by(|one, other| one.asked.message.cmp(&other.asked.message));
    let learning = |kind| kind == DecisionKind::Learning;
    Ok(match pick {
        Pick::One(number, choice) => {
            cards.retain(|card| learning(card.asked.kind));
            let meant = cards.into_iter().nth(number - 1);
            let open = meant.filter(|card| card.decided.is_none());
            open.map(|card| Click::on(&card.asked, choice))
                .into_iter()
                .collect()
        }
        Pick::All(choice) => cards
            .into_iter()
            .filter(|card| card.decided.is_none())
            .map(|card| card.asked)
            .filter(|asked| learning(asked.kind) || asked.kind == DecisionKind::Maps)
            .map(|asked| Click::on(&asked, choice))
            .collect(),
    })
}

/// The one open card that a bare word answers. With several open it answers
/// none: a person has to say which.
fn click_meant(tx: &Tx<'_>, said: &Said<'_>) -> Result<Option<Click>> {
    let words = meanings(said.text);
    let (Some(root), false) = (said.root, words.is_empty()) else {
        return Ok(None);
    };
    let thread = ThreadId::new(said.channel.clone(), root.clone());
    let cards = decide::of_thread(tx.db(), &thread)?;
    let open: Vec<_> = cards
        .into_iter()
        .filter(|card| card.decided.is_none())
        .map(|card| card.asked)
        .filter(|card| said.ts.is_none_or(|ts| *ts > card.message))
        .collect();
    let meant = words.into_iter().flat_map(|word| {
        let names_it = matches!(word, Word::Merge | Word::Hold | Word::Close);
        let alone = names_it || open.len() == 1;
        let cards = open.iter().filter(move |_| alone);
        cards.filter_map(move |card| Some((card, answer(word, card.kind)?)))
    });
    let meant: Vec<_> = meant.collect();
    let [(card, choice)] = meant.as_slice() else {
        return Ok(None);
    };
    Ok(Some(Click::on(card, *choice)))
}

/// `approve <id>` or `reject <id>` in a message decides, where that is
/// unambiguous. The words count in the card's own thread; anywhere else they are
/// only words.
pub(crate) fn apply(tx: &mut Tx<'_>, rules: &Rules, said: &Said<'_>, repo: &str) -> Result<()> {
    let Some((thumb, request)) = Thumb::in_words(said.text) else {
        return Ok(());
    };
    let Some(view) = decide::view(tx.db(), repo, &request)? else {
        return Ok(());
    };
    let asked = view.asked;
    if said.root != Some(&asked.thread.root) {
        return Ok(());
    }
    let Some(choice) = thumb.choice(asked.kind) else {
        return Ok(());
    };
    decided(tx, rules, said.person, &Click::on(&asked, choice)).map(drop)
}

/// Decides by a word or a thumb; true when it counted. Of somebody who may not
/// decide it stays a word or a thumb, and they are told.
pub(super) fn decided(
    tx: &mut Tx<'_>,
    rules: &Rules,
    person: &Person,
    click: &Click,
) -> Result<bool> {
    let refusal = match tx.attempt(|tx| decide::decide(tx, rules, person, click)) {
        Ok(_) => return Ok(true),
        Err(Trouble::Refused(refusal)) => refusal,
        Err(trouble) => return Err(trouble),
    };
    if let Some(view) = decide::on_message(tx.db(), &click.channel, &click.message)? {
        let place = (&view.asked.thread, view.asked.from);
        access::tell(tx, rules, person, place, refusal)?;
    }
    Ok(false)
}
