//! What secrets look like that are not simply named: each file knows one kind.

pub(super) mod address;
pub(super) mod command;
pub(super) mod cookie;
pub(super) mod inside;
pub(super) mod jwk;
pub(super) mod pem;
pub(super) mod pgpass;
pub(super) mod url;
pub(super) mod vendor;
