//! `Signed-off-by`, where the repository asks for it: the settings of GitHub's
//! DCO check on the default branch say so. A thread's own branch does not count.

use butler_protocol::Role;
use tokio_util::sync::CancellationToken;

use crate::{Repo, Result, commits::commit::identity};

/// The trailer.
const SIGN_OFF: &str = "Signed-off-by";
/// Where the DCO check keeps its settings.
const ASKS: [&str; 2] = [".github/dco.yml", ".github/dco.yaml"];

impl Repo {
    /// The sign-off of a role's commit, if this repository asks for one.
    pub(crate) async fn sign_off(
        &self,
        role: Role,
        cancel: &CancellationToken,
    ) -> Result<Option<(String, String)>> {
        let asks = self
            .git()
            .call(["ls-tree", "--name-only", "--full-tree"])
            .arg(self.default_ref())
            .args(ASKS)
            // A default branch without a commit asks for nothing.
            .accept(&[0, 128])
            .run(cancel)
            .await?;
        let (name, mail) = identity(role);
        Ok((!asks.text().is_empty()).then(|| (SIGN_OFF.to_owned(), format!("{name} <{mail}>"))))
    }
}
