//! Why a call was not carried out: one kind per reason, with its name on the wire
//! and the words that people read. Whoever is refused looks at the kind.

use std::sync::LazyLock;

macro_rules! refusals {
    ($($kind:ident,)*) => {
        /// Why the hub, or Slack, did not do what was asked. The first ones are
        /// Slack's, by its own names; the rest are the hub's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each says what its name says")]
        pub enum Refusal {
            $($kind,)*
        }

        impl Refusal {
            /// All of them.
            pub const ALL: &[Refusal] = &[$(Refusal::$kind,)*];
        }
    };
}

refusals! {
    AccountInactive, AlreadyReacted, BadTimestamp, BotNotFound, CannotReplyToMessage,
    CantDeleteMessage, CantUpdateMessage, ChannelNotFound, EditWindowClosed, ExpiredUrl, FatalError,
    FileNotFound, FileUploadSizeRestricted, FileUploadsDisabled, InternalError, InvalidArguments,
    InvalidAttachments, InvalidAuth, InvalidBlocks, InvalidBlocksFormat, InvalidCursor,
    InvalidFormData, InvalidJson, InvalidMetadataFormat, InvalidName, InvalidNameRequired,
    InvalidNameSpecials, InvalidPostType, InvalidThreadTs, InvalidTsLatest, InvalidTsOldest,
    IsArchived, MarkdownTextConflict, MessageLimitExceeded, MessageNotFound, MetadataTooLarge,
    MissingScope, MsgBlocksTooLong, MsgBlocksTooMany, MsgTooLong, NameTaken, NoItemSpecified,
    NoReaction, NoText, NotAllowedTokenType, NotAuthed, NotInChannel, NotReactable, Ratelimited,
    RequestTimeout, RestrictedAction, ServiceUnavailable, StorageLimitReached, ThreadNotFound,
    TokenExpired, TokenRevoked, TooManyAttachments, TooManyEmoji, TooManyReactions, UnknownMethod,
    UserNotFound, UserNotInChannel, AlreadyArchived, AlreadyInChannel, AlreadyPinned,
    CannotUnfurlMessage, CantDeleteFile, CantInviteSelf, CantKickSelf, DuplicateExternalId,
    ExchangedTriggerId, ExpiredTriggerId, HashConflict, InvalidBookmarkType, InvalidLink,
    InvalidNameMaxlength, InvalidScheduledMessageId, InvalidTime, InvalidTriggerId,
    MessageNotInStreamingState, MethodNotSupportedForChannelType, MissingRecipientTeamId,
    MissingRecipientUserId, MissingUnfurls, NoPin, NoUser, NotArchived, NotFound, PushLimitReached,
    StreamingStateConflict, TimeInPast, TimeTooFar, TooLong, UsersNotFound, UsersListNotSupplied,
    NoSuchSubteam, AlreadyDecided, AlreadySettled, CardHasText, CardWouldBeRedacted, ForeignHost,
    ForeignOrigin, HashMismatch, InvalidAmount, InvalidCard, InvalidChoice, InvalidCommand,
    NoTestHooks, NotAPerson, NotAllowed, NotAnApprover, NotTheCard, RequestTaken, StaleEpoch,
    SubjectMismatch, ThreadStopped, ThreadTaken, UnknownAction, UnknownBody, UnknownRequest, UnknownReservation,
    UseSlack, ItemAlreadyStarted, NoSuchRun, RunBudget, RunNotRunning, InvalidPerson, NoRight,
    OwnerStays, NotInChange, UnknownModel, CodeExpired, CodeUsed,
    UnknownCode, TooManyMessages, TooManyOwnThreads, TooManyThreads, OperatorsBudget,
}

/// `ThreadStopped` is `thread_stopped` on the wire, and so for all of them.
static CODES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let snake = |name: String| {
        let apart = |c: char| c.is_uppercase().then_some('_').into_iter().chain([c]);
        let code: String = name.chars().flat_map(apart).collect();
        code.trim_start_matches('_').to_lowercase()
    };
    let names = Refusal::ALL.iter().map(|one| format!("{one:?}"));
    names.map(snake).collect()
});

impl Refusal {
    /// The name on the wire.
    pub fn code(self) -> &'static str {
        &CODES[self as usize]
    }

    /// The one with this name; Slack knows more than we do.
    pub fn named(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.code() == code)
    }

    /// Whether no later call with the same token can succeed.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Refusal::InvalidAuth
                | Refusal::NotAuthed
                | Refusal::AccountInactive
                | Refusal::TokenRevoked
                | Refusal::TokenExpired
                | Refusal::NotAllowedTokenType
        )
    }

    /// What the page says.
    pub fn sentence(self) -> &'static str {
        match self {
            Refusal::ChannelNotFound => "There is no such channel.",
            Refusal::ThreadNotFound | Refusal::MessageNotFound => "There is no such message.",
            Refusal::AlreadyDecided => "Somebody decided about this card before.",
            Refusal::NotAnApprover => "You are not among the people who may approve this.",
            Refusal::NotAllowed => "You are not among the people whom this team listens to.",
            Refusal::NoRight => "Only an administrator of this workspace may do that.",
            Refusal::OwnerStays => "The owner of this machine keeps all rights.",
            Refusal::UserNotFound => "There is nobody of that name.",
            Refusal::InvalidPerson => {
                "A name has up to 40 letters, digits, dots, dashes and spaces, and belongs to nobody else."
            }
            Refusal::NotTheCard | Refusal::UnknownRequest | Refusal::UnknownAction => {
                "This button is not valid here."
            }
            Refusal::UseSlack => "This workspace is in Slack: say and decide it there.",
            Refusal::CodeUsed => "This invitation was used already.",
            Refusal::CodeExpired => "This invitation has expired.",
            Refusal::UnknownCode => "This invitation was taken back, or never given.",
            Refusal::NotFound => "There is nothing of that name.",
            Refusal::NoText => "There was nothing to say.",
            Refusal::UnknownModel => "No agent here knows a model of that name.",
            Refusal::NotInChange => {
                "These lines are not part of the change any more. Look at it again."
            }
            Refusal::MsgTooLong => "That is too long for one message.",
            Refusal::ForeignOrigin => "This request did not come from this page.",
            Refusal::FileNotFound => "There is no such file.",
            Refusal::FileUploadSizeRestricted => {
                "That file is empty, or larger than the 32 MB that a message may bring."
            }
            Refusal::TooManyMessages => {
                "You have said as much as one person may in a minute (`hub.limits.messagesPerMinute`). Say it again in a moment; an admin can raise the limit in the machine config of the hub."
            }
            Refusal::TooManyOwnThreads => {
                "You have as many open threads here as one person may (`hub.limits.openThreadsPerPerson`). Go on in one of them, or let one be merged or closed first; an admin can raise the limit in the machine config of the hub."
            }
            Refusal::TooManyThreads => {
                "This repository has as many open threads as it may (`hub.limits.openThreadsPerRepo`). Go on in one of them, or let one be merged or closed first; an admin can raise the limit in the machine config of the hub."
            }
            Refusal::StorageLimitReached => {
                "The files of this repository fill what they may (`hub.limits.filesPerRepo`). Delete some, or ask an admin to raise the limit in the machine config of the hub."
            }
            Refusal::OperatorsBudget => {
                "This budget is the operator's (`hub.limits` in the machine config of the hub): only an admin may raise it."
            }
            Refusal::AlreadyReacted | Refusal::NoReaction => "Somebody was quicker; look again.",
            Refusal::InvalidName => "There is no such emoji.",
            _ => "The workspace refused.",
        }
    }

    /// What a person is told whose click, thumb or word did not count.
    pub fn did_not_count(self) -> &'static str {
        match self {
            Refusal::NotAnApprover => {
                "You are not on the list of people who may approve this, so nothing happened."
            }
            Refusal::NotAllowed => {
                "This team listens to the people in `limits.allowedUsers` of its repository and to \
                 the machine's approvers. You are in neither list, so nothing happened."
            }
            Refusal::AlreadyDecided => "This was decided already, so nothing happened.",
            Refusal::TooManyMessages
            | Refusal::TooManyOwnThreads
            | Refusal::TooManyThreads
            | Refusal::OperatorsBudget => self.sentence(),
            _ => "This button is out of date, so nothing happened.",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_one_kind() {
        for one in Refusal::ALL {
            assert_eq!(Refusal::named(one.code()), Some(*one));
        }
        assert_eq!(Refusal::named("something_new"), None);
    }
}
