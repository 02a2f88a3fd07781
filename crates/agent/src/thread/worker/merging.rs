//! A person's actions on the thread, and the wait for a forge that said no to a
//! merge: beside the machine, so that the role hears and answers meanwhile.

use butler_protocol::{PersonAct, Record};

use super::Worker;
use crate::{
    AgentError,
    decide::{
        blocked_merge, from_forge,
        person_actions::{self, Asked},
    },
    listen::intake::Ack,
    upkeep::forge::pull_watch::FromForge,
};

impl Worker {
    /// Carries out what a person asked for in a word.
    pub(super) async fn act(&mut self, asked: Asked, ack: Option<Ack>) -> Result<(), AgentError> {
        match asked.what {
            PersonAct::Hold => self.withdraw_merge().await?,
            PersonAct::TryAgain => self.end_wait(),
            PersonAct::Merge
            | PersonAct::Archive
            | PersonAct::Remember
            | PersonAct::Undo(_)
            | PersonAct::TakeUp(_) => {}
        }
        // A person's own act; a stop comes behind it, and must not hold up its answer.
        let context = self.lasting().unstopped();
        self.start(person_actions::carry_out(context, asked, ack));
        Ok(())
    }

    /// Waits for the forge, if a merge was refused that may yet go through.
    pub(super) fn mind_merge(&mut self) {
        if self.edge.merge_wait.is_some() {
            return;
        }
        let Some(refused) = self.edge.context.facts().cards.refused.clone() else {
            return;
        };
        if !refused.block.waits() {
            return;
        }
        let wait = self.work.child_token();
        self.edge.merge_wait = Some(wait.clone());
        let context = self.edge.context.until(&wait);
        self.start(blocked_merge::wait(context, refused));
    }

    /// Gives up a merge that the forge refused: nothing tries it again, also not
    /// after a restart. Call it for every stop.
    pub(super) async fn withdraw_merge(&mut self) -> Result<(), AgentError> {
        self.end_wait();
        let refused = self.edge.context.facts().cards.refused.clone();
        let Some(refused) = refused else {
            return Ok(());
        };
        let request = refused.request.clone();
        self.write(vec![Record::MergeSettled { request }]).await?;
        let context = self.edge.context.clone();
        self.aside(async move {
            let said = "This merge was withdrawn; the pull request stays open.";
            blocked_merge::put_away(&context, &refused, said).await;
        });
        Ok(())
    }

    /// What others did on the forge: in the log first, then told.
    pub(super) async fn hear_forge(&mut self, from: FromForge) -> Result<(), AgentError> {
        let FromForge {
            seen,
            news,
            written,
        } = from;
        let seen = Box::new(seen);
        self.write(vec![Record::PullSeen { seen, news }]).await?;
        // Whoever looks is only told that it need not look again.
        let _ = written.send(());
        self.tell_forge_news();
        Ok(())
    }

    /// Tells what was not told yet, one after the other.
    pub(super) fn tell_forge_news(&mut self) {
        let untold = !self.edge.context.facts().pulls.untold().is_empty();
        if !untold || self.edge.telling {
            return;
        }
        self.edge.telling = true;
        // Nobody of this thread said it; a stop must not hold it up.
        let context = self.lasting().unstopped();
        self.start(from_forge::tell(context));
    }

    /// So many of the news are told.
    pub(super) async fn told_forge_news(&mut self, news: u32) -> Result<(), AgentError> {
        self.edge.telling = false;
        self.write(vec![Record::PullTold { news }]).await?;
        self.tell_forge_news();
        Ok(())
    }

    fn end_wait(&mut self) {
        if let Some(wait) = self.edge.merge_wait.take() {
            wait.cancel();
        }
    }
}
