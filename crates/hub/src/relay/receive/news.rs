//! One thing that Slack told us, while it is taken over.

use std::sync::Arc;

use butler_protocol::UserId;

use crate::{
    error::Result,
    hub::App,
    identity::Person,
    relay::{Relay, receive::inbox},
    store::Tx,
};

/// What is to be taken over, and by whom.
#[derive(Clone, Copy)]
pub(crate) struct News<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) relay: &'a Arc<Relay>,
    /// Its number in the inbox; 0 for what history shows, which is not in it.
    pub(crate) seq: i64,
}

impl News<'_> {
    /// Changes the mirror and is done with it, in one transaction.
    pub(crate) async fn settle<T: Send + 'static>(
        self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let work = move |tx: &mut Tx<'_>| {
            let outcome = work(tx)?;
            inbox::done(tx.db(), self.seq)?;
            Ok(outcome)
        };
        self.app.write_as_owner(work).await
    }

    /// There is nothing to change, or it was changed before.
    pub(crate) async fn done(self) -> Result<()> {
        self.settle(|_| Ok(())).await
    }

    /// Who did it.
    pub(crate) async fn person(self, user: &UserId) -> Result<Person> {
        self.relay.person(&self.app.as_owner(), user).await
    }

    /// What somebody is told whom the team does not listen to.
    pub(crate) async fn outside(self, person: &Person) -> Result<Option<&'static str>> {
        let store = self.app.as_owner();
        let found = self.relay.outsider(&store, &person.id).await?;
        Ok(found.map(|outsider| outsider.words()))
    }
}
