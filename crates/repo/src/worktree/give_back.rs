//! A branch that nothing came of, as after a plan that a person rejected: taken away here,
//! and on the remote too where it holds nothing that the default branch does not have. What
//! was built, and what somebody pushed there meanwhile, stays.

use butler_protocol::{ThreadId, fault};
use tokio_util::sync::CancellationToken;

use crate::{
    Merged, Repo, Result,
    refs::push::{Pushed, RefChange},
};

impl Repo {
    /// [`Repo::remove`], and the empty branch on the remote with it. It may be repeated.
    /// Fails as for [`Repo::remove`]; when the remote cannot be reached.
    pub async fn give_back(&self, thread: &ThreadId, cancel: &CancellationToken) -> Result<()> {
        self.remove(thread, cancel).await?;
        let Some(remote) = self.remote() else {
            return Ok(());
        };
        let root = format!("refs/remotes/{}/", remote.name);
        for branch in self.branches_of(thread, &root, cancel).await? {
            let tracking = self.tracking_ref(&branch);
            let Some(tip) = self.resolve(&tracking).await? else {
                continue;
            };
            if self.merged(&tip, None, cancel).await? != Some(Merged::ByHistory) {
                continue;
            }
            let name = format!("refs/heads/{branch}");
            let empty = RefChange::gone(&name, tip.as_str());
            fault("repo.before-give-back");
            let gone = self.push_refs(&[empty], cancel).await? == Pushed::Done;
            fault("repo.after-give-back");
            if gone {
                let forget = self.git().call(["update-ref", "-d", &tracking]);
                forget.run(cancel).await?;
            }
        }
        Ok(())
    }
}
