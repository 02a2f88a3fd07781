//! A raw answer to a reply that can be stored, run and paid for.

pub(crate) mod gather;
pub(crate) mod lenient_json;
pub(crate) mod repair;
pub(crate) mod text_calls;

use butler_protocol::{ModelReply, RepliedCall, TokenUsage, Usd};
use serde_json::{Map, Value};

use crate::{
    Arguments, ErrorClass, ModelError, ModelRequest, PriceBook, RawReply, Refusal, Trouble,
    catalog::{
        decimal::{count, dollars},
        names, price,
    },
    classify, repair_arguments,
    reply::gather::RawCall,
    wire::keep_reasoning,
};

/// Estimates of usage, where a server counts nothing: three bytes a token.
const BYTES_PER_TOKEN: u64 = 3;

const CUT_OFF: &str =
    "the call was cut off at the output limit and did not run; send it again in smaller pieces";

/// Judges a raw answer: an error inside it, nothing in it, or a reply.
/// Errors: [`ModelError::Malformed`] when there is no choice or a call is cut without the
/// output limit being the reason, [`ModelError::Filtered`] when the provider refused, and
/// whatever class an error inside the answer has.
pub fn read_reply(
    raw: RawReply,
    request: &ModelRequest,
    prices: &PriceBook,
    upper: &butler_protocol::Price,
) -> Result<ModelReply, ModelError> {
    let (usage, cost) = bill(&raw, request, prices, upper);
    // Nothing is charged when an answer ends in an error or never began.
    let fail = |class: ErrorClass, detail: &str, spent: Usd| {
        let mut trouble = Trouble::new(&request.model, detail);
        trouble.spent = spent;
        Err(class.with(trouble))
    };
    if let Some(error) = &raw.error {
        return Err(classify(&request.model, &Refusal::in_stream(error)));
    }
    if !raw.any_choice {
        let detail = "the answer has no choices";
        return fail(ErrorClass::Malformed, detail, Usd::ZERO);
    }
    if raw.finish.as_deref() == Some("error") {
        let detail = "the answer ended in an error";
        return fail(ErrorClass::Overloaded, detail, Usd::ZERO);
    }
    if raw.finish.as_deref() == Some("content_filter") {
        let detail = "the content filter ended the answer";
        return fail(ErrorClass::Filtered, detail, cost);
    }
    let no_words = raw.text.trim().is_empty() && raw.calls.is_empty();
    if no_words && !raw.refusal.trim().is_empty() {
        return fail(ErrorClass::Filtered, raw.refusal.trim(), cost);
    }

    let cut = raw.finish.as_deref() == Some("length");
    let tools = request.tools.iter().map(|tool| tool.name.as_str());
    let tools: Vec<&str> = tools.collect();
    let (text, calls) = words_and_calls(raw.text, raw.calls, &tools);
    let mut replied = Vec::with_capacity(calls.len());
    for call in &calls {
        match read_call(call, &tools, cut) {
            Some(read) => replied.push(read),
            None => {
                let detail = format!("the arguments of {} end in the middle", call.name);
                return fail(ErrorClass::Malformed, &detail, cost);
            }
        }
    }
    Ok(ModelReply {
        text: Some(text).filter(|text| !text.trim().is_empty()),
        calls: replied,
        reasoning: keep_reasoning(&request.model, &raw.reasoning),
        cut,
        usage,
        cost,
        model: request.model.clone(),
    })
}

/// Believes the calls that were sent; without any, looks for some in the text.
fn words_and_calls(
    text: String,
    mut calls: Vec<RawCall>,
    tools: &[&str],
) -> (String, Vec<RawCall>) {
    calls.retain(|call| !(call.name.is_empty() && call.arguments.trim().is_empty()));
    if calls.is_empty()
        && let Some((before, written)) = text_calls::find(&text, tools)
    {
        let calls = written.len();
        tracing::debug!(calls, "the model wrote its tool calls as text");
        return (before, written);
    }
    (text, calls)
}

/// One call, or nothing when it was cut though the output limit was not reached.
fn read_call(call: &RawCall, tools: &[&str], cut: bool) -> Option<RepliedCall> {
    let known = names::canonical(&call.name, tools);
    let unread = |problem: String| (Value::Object(Map::new()), Some(problem));
    // At the limit, no arguments at all are as suspicious as half of them.
    let nothing_came = cut && call.arguments.trim().is_empty();
    let (arguments, mut problem) = match repair_arguments(&call.arguments) {
        Arguments::Read(object) if !nothing_came => (object, None),
        Arguments::Wrong(problem) => unread(problem),
        Arguments::Cut if !cut => return None,
        Arguments::Read(_) | Arguments::Cut => unread(CUT_OFF.to_owned()),
    };
    if known.is_none() {
        problem = Some(unknown_tool(&call.name, tools));
    }
    Some(RepliedCall {
        name: known.unwrap_or(&call.name).to_owned(),
        arguments,
        problem,
    })
}

fn unknown_tool(name: &str, tools: &[&str]) -> String {
    let shown: String = name.chars().take(60).collect();
    if tools.is_empty() {
        return format!("there is no tool `{shown}`: no tools are offered now, answer in text");
    }
    let nearest = names::nearest(name, tools, 3);
    let (nearest, tools) = (nearest.join(", "), tools.join(", "));
    let hint = match nearest.as_str() {
        "" => ".".to_owned(),
        nearest => format!("; did you mean {nearest}?"),
    };
    format!("there is no tool `{shown}`{hint} The tools are: {tools}.")
}

/// What was counted and what it cost.
fn bill(
    raw: &RawReply,
    request: &ModelRequest,
    prices: &PriceBook,
    upper: &butler_protocol::Price,
) -> (TokenUsage, Usd) {
    let counted = raw.usage.as_ref().and_then(read_usage);
    let usage = counted.unwrap_or_else(|| estimate(request, output_size(raw)));
    let billed = raw.usage.as_ref().and_then(billed);
    (usage, prices.cost(&request.model, &usage, billed, upper))
}

fn read_usage(usage: &Value) -> Option<TokenUsage> {
    let number = |pointer: &str| count(usage.pointer(pointer));
    let input = number("/prompt_tokens").or_else(|| number("/input_tokens"))?;
    let cached = number("/prompt_tokens_details/cached_tokens");
    let cached = cached.or_else(|| number("/prompt_cache_hit_tokens"));
    let output = number("/completion_tokens").or_else(|| number("/output_tokens"));
    Some(TokenUsage {
        input,
        cached_input: cached.unwrap_or(0),
        cache_write: number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        output: output.unwrap_or(0),
        reasoning: number("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
    })
}

/// The provider's own figure. With a key of one's own at the provider the
/// router bills only its fee, and what the provider takes comes on top.
fn billed(usage: &Value) -> Option<Usd> {
    let cost = usage.get("cost").and_then(dollars)?;
    let upstream = usage.pointer("/cost_details/upstream_inference_cost");
    let own_key = usage.get("is_byok") == Some(&Value::Bool(true));
    let more = upstream.filter(|_| own_key).and_then(dollars);
    Some(cost + more.unwrap_or(Usd::ZERO))
}

/// Usage that nobody counted.
pub(crate) fn estimate(request: &ModelRequest, output_bytes: u64) -> TokenUsage {
    TokenUsage {
        input: price::input_tokens(request, BYTES_PER_TOKEN),
        output: output_bytes.div_ceil(BYTES_PER_TOKEN),
        ..TokenUsage::default()
    }
}

fn output_size(raw: &RawReply) -> u64 {
    let calls = raw.calls.iter();
    let calls: usize = calls
        .map(|call| call.name.len() + call.arguments.len())
        .sum();
    let thoughts: usize = raw.reasoning.values().map(|v| v.to_string().len()).sum();
    (raw.text.len() + calls + thoughts) as u64
}
