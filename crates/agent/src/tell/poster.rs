//! The role's line to the thread: posts under its own name, typed hand-overs,
//! decision cards. Every post has a key, so the hub makes a repeat harmless.

use std::collections::HashMap;

use butler_protocol::{
    CardTag, ChannelId, HandOver, HandOverTag, Idem, ItemTag, MessageTs, PostTag, Role, Sha256Hex,
    ThreadId, UserId, fault, people_mentioned, with_names,
};
use butler_slack::{Control, Message, Post, Posted, SlackError, Web, mrkdwn};
use serde_json::{Value, json};

use crate::tell::{hub_updates::Behind, joining, render};

/// Posts as one role.
#[derive(Debug, Clone)]
pub(crate) struct Poster {
    /// The role that speaks.
    pub(crate) role: Role,
    /// The last event of the thread that was known when what is said here began.
    /// Without it a stop does not hold it back.
    pub(crate) heard: Option<u64>,
    /// What the role's log says is told before the role speaks: whoever hears it can
    /// ask the hub what it did.
    pub(crate) updates: Option<Behind>,
    /// Slack's own methods.
    pub(crate) web: Web,
    /// What Slack has no words for.
    pub(crate) control: Control,
}

impl Poster {
    /// Says something in the thread, in Markdown.
    pub(crate) async fn say(
        &self,
        thread: &ThreadId,
        idem: Idem,
        markdown: &str,
    ) -> Result<Posted, SlackError> {
        self.say_to(thread, idem, markdown, Vec::new()).await
    }

    /// The same, and wakes these roles.
    pub(crate) async fn say_to(
        &self,
        thread: &ThreadId,
        idem: Idem,
        markdown: &str,
        to: Vec<Role>,
    ) -> Result<Posted, SlackError> {
        let text = mrkdwn::from_markdown(markdown);
        self.post(thread, text, None, PostTag::message(idem, to))
            .await
    }

    /// Says what was said in a recording, whose file it names.
    pub(crate) async fn say_heard(
        &self,
        thread: &ThreadId,
        idem: Idem,
        markdown: &str,
        file: &str,
    ) -> Result<Posted, SlackError> {
        let mut tag = PostTag::message(idem, Vec::new());
        tag.recording = Some(file.to_owned());
        self.post(thread, mrkdwn::from_markdown(markdown), None, tag)
            .await
    }

    /// Says something with files below it; gives their ids too.
    pub(crate) async fn show(
        &self,
        thread: &ThreadId,
        idem: Idem,
        markdown: &str,
        to: Vec<Role>,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<(Posted, Vec<String>), SlackError> {
        let text = mrkdwn::from_markdown(markdown);
        let mut tag = PostTag::message(idem, to);
        tag.heard = self.heard;
        if let Some(updates) = &self.updates {
            updates.told().await?;
        }
        let post = self.in_thread(thread, text, None, tag);
        fault("agent.before-share");
        let shown = self.web.share(&post, files).await?;
        fault("agent.after-share");
        Ok(shown)
    }

    fn in_thread(
        &self,
        thread: &ThreadId,
        text: String,
        blocks: Option<Value>,
        tag: PostTag,
    ) -> Post {
        Post {
            channel: thread.channel.clone(),
            thread: Some(thread.root.clone()),
            text,
            blocks,
            username: Some(self.role.user_name()),
            icon: Some(self.role.icon().to_owned()),
            tag,
        }
    }

    /// Says something in the thread that notifies these people. The mention is ours;
    /// in Markdown it would be escaped, as whatever a model writes must be.
    pub(crate) async fn ask_people(
        &self,
        thread: &ThreadId,
        idem: Idem,
        people: &[UserId],
        markdown: &str,
    ) -> Result<Posted, SlackError> {
        let text = ringing(people, markdown);
        self.post(thread, text, None, PostTag::message(idem, Vec::new()))
            .await
    }

    /// Opens a thread; for an item of the roadmap the hub refuses one that has begun.
    pub(crate) async fn open(
        &self,
        channel: &ChannelId,
        idem: Idem,
        markdown: &str,
        item: Option<ItemTag>,
    ) -> Result<Posted, SlackError> {
        let mut tag = PostTag::message(idem, Vec::new());
        tag.item = item;
        let post = Post {
            channel: channel.clone(),
            thread: None,
            text: mrkdwn::from_markdown(markdown),
            blocks: None,
            username: Some(self.role.user_name()),
            icon: Some(self.role.icon().to_owned()),
            tag,
        };
        self.web.post(&post).await
    }

    /// Hands over: the body goes to the hub, the message points to it.
    pub(crate) async fn hand_over(
        &self,
        thread: &ThreadId,
        idem: Idem,
        body: &HandOver,
    ) -> Result<Posted, SlackError> {
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        let sha256 = Sha256Hex::of(&bytes);
        fault("agent.before-body");
        let reference = self.control.put_body(&bytes).await?;
        fault("agent.after-body");
        let mut tag = PostTag::message(idem, body.to().into_iter().collect());
        tag.hand_over = Some(HandOverTag {
            kind: body.kind(),
            body: reference,
            sha256,
        });
        let text = mrkdwn::from_markdown(&render::hand_over(body));
        self.post(thread, text, None, tag).await
    }

    /// Says something with buttons below it that decide nothing.
    pub(crate) async fn offer(
        &self,
        thread: &ThreadId,
        idem: Idem,
        markdown: &str,
        buttons: &[(String, &str)],
    ) -> Result<Posted, SlackError> {
        self.offer_to(thread, idem, &[], markdown, buttons).await
    }

    /// The same, and notifies these people.
    pub(crate) async fn offer_to(
        &self,
        thread: &ThreadId,
        idem: Idem,
        people: &[UserId],
        markdown: &str,
        buttons: &[(String, &str)],
    ) -> Result<Posted, SlackError> {
        let text = ringing(people, markdown);
        let elements: Vec<Value> = buttons
            .iter()
            .map(|(action, label)| {
                json!({"type": "button", "action_id": action,
                    "text": {"type": "plain_text", "text": label}})
            })
            .collect();
        let mut blocks = vec![json!({"type": "markdown", "text": markdown})];
        if !people.is_empty() {
            let text = mentions(people);
            blocks.push(json!({"type": "context", "elements": [
                {"type": "mrkdwn", "text": text.trim_end()}]}));
        }
        blocks.push(json!({"type": "actions", "elements": elements}));
        let blocks = Value::Array(blocks);
        self.post(
            thread,
            text,
            Some(blocks),
            PostTag::message(idem, Vec::new()),
        )
        .await
    }

    /// Posts a card that waits for a person. The hub draws it and says all of it.
    pub(crate) async fn ask(
        &self,
        thread: &ThreadId,
        idem: Idem,
        tag: CardTag,
    ) -> Result<Posted, SlackError> {
        let mut post_tag = PostTag::message(idem, Vec::new());
        post_tag.card = Some(tag);
        self.post(thread, String::new(), None, post_tag).await
    }

    /// Everybody who has spoken in the thread, the starter first: whom to notify
    /// when a person is needed.
    pub(crate) async fn people(&self, thread: &ThreadId) -> Result<Vec<UserId>, SlackError> {
        Ok(joining::people(&self.web.replies(thread).await?))
    }

    /// Where people find the thread, unless that is this machine only.
    pub(crate) async fn address(&self, thread: &ThreadId) -> Option<String> {
        self.address_of(&thread.channel, &thread.root).await
    }

    /// The same of one message.
    pub(crate) async fn address_of(&self, channel: &ChannelId, ts: &MessageTs) -> Option<String> {
        let link = self.permalink(channel, ts).await?;
        let host = link
            .split("://")
            .nth(1)?
            .split(['/', ':'])
            .next()?
            .to_owned();
        let here = host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.");
        (!here).then_some(link)
    }

    /// Where a message can be read, also on this machine only.
    pub(crate) async fn permalink(&self, channel: &ChannelId, ts: &MessageTs) -> Option<String> {
        let args = json!({"channel": channel, "message_ts": ts});
        let answer = self.web.call("chat.getPermalink", args).await.ok()?;
        Some(answer["permalink"].as_str()?.to_owned())
    }

    /// Gives a message of ours other words.
    pub(crate) async fn edit(
        &self,
        thread: &ThreadId,
        ts: &MessageTs,
        markdown: &str,
    ) -> Result<(), SlackError> {
        let text = mrkdwn::from_markdown(markdown);
        fault("agent.before-reword");
        self.web.update(&thread.channel, ts, &text, None).await?;
        fault("agent.after-reword");
        Ok(())
    }

    /// The names of the people who speak in these messages or are mentioned there.
    pub(crate) async fn names(
        &self,
        messages: &[Message],
    ) -> Result<HashMap<UserId, String>, SlackError> {
        let mut names = HashMap::new();
        for user in joining::people(messages) {
            let name = self.web.user_name(&user).await?;
            names.insert(user, name);
        }
        for message in messages {
            self.look_up(&message.text, &mut names).await;
        }
        Ok(names)
    }

    /// A text of Slack's with the people that it mentions by name.
    pub(crate) async fn named(&self, text: &str) -> String {
        let mut names = HashMap::new();
        self.look_up(text, &mut names).await;
        with_names(text, |id| names.get(&UserId::new(id)).cloned()).into_owned()
    }

    /// A person typed these ids, or made them up: one that nobody has stays nameless.
    async fn look_up(&self, text: &str, names: &mut HashMap<UserId, String>) {
        for user in people_mentioned(text).map(UserId::new) {
            if !names.contains_key(&user)
                && let Ok(name) = self.web.user_name(&user).await
            {
                names.insert(user, name);
            }
        }
    }

    async fn post(
        &self,
        thread: &ThreadId,
        text: String,
        blocks: Option<Value>,
        mut tag: PostTag,
    ) -> Result<Posted, SlackError> {
        tag.heard = self.heard;
        if let Some(updates) = &self.updates {
            updates.told().await?;
        }
        fault("agent.before-post");
        let post = self.in_thread(thread, text, blocks, tag);
        let posted = self.web.post(&post).await?;
        fault("agent.after-post");
        Ok(posted)
    }
}

fn ringing(people: &[UserId], markdown: &str) -> String {
    format!("{}{}", mentions(people), mrkdwn::from_markdown(markdown))
}

fn mentions(people: &[UserId]) -> String {
    people.iter().map(|user| format!("<@{user}> ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_rings_and_what_the_model_wrote_does_not() {
        let text = ringing(&[UserId::new("U7")], "is **this** <@U9> right?");
        assert_eq!(text, "<@U7> is *this* &lt;@U9&gt; right?");
    }
}
