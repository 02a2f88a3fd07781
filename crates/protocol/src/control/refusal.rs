//! Why a call was not carried out: one kind per reason, with its name on the wire
//! and the words that people read. Whoever is refused looks at the kind.

macro_rules! refusals {
    ($($kind:ident = $code:literal,)*) => {
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

            /// The name on the wire.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self {
                    $(Refusal::$kind => $code,)*
                }
            }
        }
    };
}

refusals! {
    AccountInactive = "account_inactive", AlreadyReacted = "already_reacted",
    BadTimestamp = "bad_timestamp", BotNotFound = "bot_not_found",
    CannotReplyToMessage = "cannot_reply_to_message", CantDeleteMessage = "cant_delete_message",
    CantUpdateMessage = "cant_update_message", ChannelNotFound = "channel_not_found",
    EditWindowClosed = "edit_window_closed", ExpiredUrl = "expired_url",
    FatalError = "fatal_error", FileNotFound = "file_not_found",
    FileUploadSizeRestricted = "file_upload_size_restricted",
    FileUploadsDisabled = "file_uploads_disabled", InternalError = "internal_error",
    InvalidArguments = "invalid_arguments", InvalidAttachments = "invalid_attachments",
    InvalidAuth = "invalid_auth", InvalidBlocks = "invalid_blocks",
    InvalidBlocksFormat = "invalid_blocks_format", InvalidCursor = "invalid_cursor",
    InvalidFormData = "invalid_form_data", InvalidJson = "invalid_json",
    InvalidMetadataFormat = "invalid_metadata_format", InvalidName = "invalid_name",
    InvalidNameRequired = "invalid_name_required", InvalidNameSpecials = "invalid_name_specials",
    InvalidPostType = "invalid_post_type", InvalidThreadTs = "invalid_thread_ts",
    InvalidTsLatest = "invalid_ts_latest", InvalidTsOldest = "invalid_ts_oldest",
    IsArchived = "is_archived", MarkdownTextConflict = "markdown_text_conflict",
    MessageLimitExceeded = "message_limit_exceeded", MessageNotFound = "message_not_found",
    MetadataTooLarge = "metadata_too_large", MissingScope = "missing_scope",
    MsgBlocksTooLong = "msg_blocks_too_long", MsgBlocksTooMany = "msg_blocks_too_many",
    MsgTooLong = "msg_too_long", NameTaken = "name_taken", NoItemSpecified = "no_item_specified",
    NoReaction = "no_reaction", NoText = "no_text", NotAllowedTokenType = "not_allowed_token_type",
    NotAuthed = "not_authed", NotInChannel = "not_in_channel", NotReactable = "not_reactable",
    Ratelimited = "ratelimited", RequestTimeout = "request_timeout",
    RestrictedAction = "restricted_action", ServiceUnavailable = "service_unavailable",
    StorageLimitReached = "storage_limit_reached", ThreadNotFound = "thread_not_found",
    TokenExpired = "token_expired", TokenRevoked = "token_revoked",
    TooManyAttachments = "too_many_attachments", TooManyEmoji = "too_many_emoji",
    TooManyReactions = "too_many_reactions", UnknownMethod = "unknown_method",
    UserNotFound = "user_not_found", UserNotInChannel = "user_not_in_channel",
    AlreadyArchived = "already_archived", AlreadyInChannel = "already_in_channel",
    AlreadyPinned = "already_pinned", CannotUnfurlMessage = "cannot_unfurl_message",
    CantDeleteFile = "cant_delete_file", CantInviteSelf = "cant_invite_self",
    CantKickSelf = "cant_kick_self", DuplicateExternalId = "duplicate_external_id",
    ExchangedTriggerId = "exchanged_trigger_id", ExpiredTriggerId = "expired_trigger_id",
    HashConflict = "hash_conflict", InvalidBookmarkType = "invalid_bookmark_type",
    InvalidLink = "invalid_link", InvalidNameMaxlength = "invalid_name_maxlength",
    InvalidScheduledMessageId = "invalid_scheduled_message_id", InvalidTime = "invalid_time",
    InvalidTriggerId = "invalid_trigger_id",
    MessageNotInStreamingState = "message_not_in_streaming_state",
    MethodNotSupportedForChannelType = "method_not_supported_for_channel_type",
    MissingRecipientTeamId = "missing_recipient_team_id",
    MissingRecipientUserId = "missing_recipient_user_id", MissingUnfurls = "missing_unfurls",
    NoPin = "no_pin", NoUser = "no_user", NotArchived = "not_archived", NotFound = "not_found",
    PushLimitReached = "push_limit_reached", StreamingStateConflict = "streaming_state_conflict",
    TimeInPast = "time_in_past", TimeTooFar = "time_too_far", TooLong = "too_long",
    UsersNotFound = "users_not_found", UsersListNotSupplied = "users_list_not_supplied",
    NoSuchSubteam = "no_such_subteam",
    AlreadyDecided = "already_decided", AlreadySettled = "already_settled",
    CardHasText = "card_has_text", CardWouldBeRedacted = "card_would_be_redacted",
    ForeignHost = "foreign_host", ForeignOrigin = "foreign_origin", HashMismatch = "hash_mismatch",
    InvalidAmount = "invalid_amount", InvalidCard = "invalid_card",
    InvalidChoice = "invalid_choice", InvalidCommand = "invalid_command",
    NoTestHooks = "no_test_hooks", NotAPerson = "not_a_person", NotAllowed = "not_allowed",
    NotAnApprover = "not_an_approver", NotTheCard = "not_the_card", RequestTaken = "request_taken",
    StaleEpoch = "stale_epoch", SubjectMismatch = "subject_mismatch",
    ThreadStopped = "thread_stopped", ThreadTaken = "thread_taken", UnknownAction = "unknown_action",
    UnknownBody = "unknown_body", UnknownRequest = "unknown_request",
    UnknownReservation = "unknown_reservation", UseSlack = "use_slack",
    ItemAlreadyStarted = "item_already_started", NoSuchRun = "no_such_run",
    RunBudget = "run_budget", RunNotRunning = "run_not_running",
    InvalidPerson = "invalid_person", NoRight = "no_right", OwnerStays = "owner_stays",
    NotInChange = "not_in_change", UnknownModel = "unknown_model",
}

impl Refusal {
    /// The one with this name; Slack knows more than we do.
    #[must_use]
    pub fn named(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.code() == code)
    }

    /// Whether no later call with the same token can succeed.
    #[must_use]
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
    #[must_use]
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
            Refusal::AlreadyReacted | Refusal::NoReaction => "Somebody was quicker; look again.",
            Refusal::InvalidName => "There is no such emoji.",
            _ => "The workspace refused.",
        }
    }

    /// What a person is told whose click, thumb or word did not count.
    #[must_use]
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
