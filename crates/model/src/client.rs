//! The client: retries, breakers, fallback, prices.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use butler_protocol::{ModelMessage, ModelReply, Price, Usd};
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Breaker, BreakerState, ClientConfig, ModelError, ModelInfo, ModelRequest, OnText, PriceBook,
    Trouble, catalog,
    http::{attempt::Call, retry, transport},
    vision, wire,
};

/// Talks to one endpoint. Cheap to share behind an `Arc`; one per endpoint, so
/// that breakers and prices are shared by all threads of a process.
#[derive(Debug)]
pub struct ModelClient {
    http: reqwest::Client,
    config: ClientConfig,
    prices: RwLock<Arc<PriceBook>>,
    blind: RwLock<BTreeSet<String>>,
    breakers: Mutex<BTreeMap<String, Breaker>>,
    /// Conversations as they were last written, by session; the newest last.
    kept: Mutex<Vec<(String, wire::Kept)>>,
}

/// As many conversations as a process usually has under way; more only means
/// that one of them is written whole again.
const KEPT: usize = 3;

impl ModelClient {
    /// A client for the endpoint of `config`. Nothing is sent yet.
    /// Errors: [`ModelError::Setup`] when address, key, headers, proxy or certificates cannot
    /// be used.
    pub fn new(config: ClientConfig) -> Result<Self, ModelError> {
        Ok(Self {
            http: transport::build(&config)?,
            prices: RwLock::new(Arc::new(config.prices.clone())),
            blind: RwLock::new(config.blind.clone()),
            breakers: Mutex::default(),
            kept: Mutex::default(),
            config,
        })
    }

    /// How it was configured.
    pub const fn config(&self) -> &ClientConfig {
        &self.config
    }

    pub(crate) const fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Whether a model can be shown pictures, as far as its endpoint's list says.
    pub fn sees(&self, model: &str) -> bool {
        let blind = self.blind.read().unwrap_or_else(PoisonError::into_inner);
        !blind.contains(model)
    }

    /// One call: retries by class of error, the fallback when the model is down,
    /// repair, price. `cancel` ends it at once.
    ///
    /// The reply's `model` is the one that answered; when it is not the one
    /// asked for, the fallback did, and the thread should be told once. Its
    /// `cost` includes failed attempts that were probably charged.
    /// Errors: see [`crate::ErrorClass`]; [`ModelError::spent`] is what the failed call cost.
    pub fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a CancellationToken,
        on_text: Option<OnText<'a>>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let error = match self.guarded(request, cancel, on_text).await {
                Err(error) if error.class().counts_for_breaker() => error,
                settled => return settled,
            };
            let Some(fallback) = request.fallback.as_ref().filter(|id| **id != request.model)
            else {
                return Err(error);
            };
            tracing::warn!(model = request.model, fallback, error = %error, "the fallback model answers");
            let mut second = request.clone();
            second.model.clone_from(fallback);
            let spent = error.spent();
            match self.guarded(&second, cancel, on_text).await {
                Ok(mut reply) => {
                    reply.cost += spent;
                    Ok(reply)
                }
                Err(second) => Err(second.and_spent(spent)),
            }
        })
    }

    /// One model behind its breaker.
    async fn guarded(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_text: Option<OnText<'_>>,
    ) -> Result<ModelReply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled { spent: Usd::ZERO });
        }
        let admitted = self.at_breaker(&request.model, |b| b.admit(Instant::now()));
        if let Err(wait) = admitted {
            let detail = "it failed several times in a row and is left alone for a while";
            let mut trouble = Trouble::new(&request.model, detail);
            trouble.retry_after = Some(wait);
            return Err(ModelError::Overloaded(trouble));
        }
        let request = &*self.as_seen(request);
        let mut result = self.retried(request, cancel, on_text).await;
        if let Err(error) = &result
            && let Some(told) = vision::after_refusal(request, error)
        {
            tracing::warn!(model = request.model, error = %error, "asking again without pictures");
            result = self.retried(&told, cancel, on_text).await;
        }
        if let Err(error) = &result
            && let Some(stripped) = without_reasoning(request, error)
        {
            tracing::warn!(model = request.model, error = %error, "asking again without reasoning blocks");
            result = self.retried(&stripped, cancel, on_text).await;
        }
        self.at_breaker(&request.model, |breaker| match &result {
            Ok(_) => breaker.succeeded(),
            Err(error) if error.class().counts_for_breaker() => breaker.failed(Instant::now()),
            Err(_) => breaker.abandoned(Instant::now()),
        });
        result
    }

    async fn retried(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_text: Option<OnText<'_>>,
    ) -> Result<ModelReply, ModelError> {
        let body = self.body(request);
        self.log_body("request", &body);
        let prices = self.prices();
        let call = Call {
            http: &self.http,
            config: &self.config,
            prices: &prices,
            url: self.config.endpoint.url("chat/completions"),
            body: body.into(),
            request,
            cancel,
            on_text,
        };
        let (mut reply, wasted) =
            retry::run(&self.config.retry, cancel, |number| call.attempt(number)).await?;
        reply.cost += wasted;
        if tracing::enabled!(tracing::Level::DEBUG)
            && let Ok(text) = serde_json::to_string(&reply)
        {
            self.log_body("reply", &text);
        }
        Ok(reply)
    }

    /// The request as text. What its session has sent before is not written anew.
    fn body(&self, request: &ModelRequest) -> String {
        let kind = self.config.endpoint.kind;
        let Some(session) = &request.session else {
            return wire::body(request, kind).to_string();
        };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(name, _)| name == session);
        let mut kept = known.map(|at| all.remove(at).1).unwrap_or_default();
        if all.len() >= KEPT {
            all.remove(0);
        }
        let text = kept.text(request, kind);
        all.push((session.clone(), kept));
        text
    }

    /// The models of the endpoint; their prices are remembered.
    /// Errors: as for a call, without retries.
    pub fn models<'a>(&'a self) -> BoxFuture<'a, Result<Vec<ModelInfo>, ModelError>> {
        Box::pin(async move {
            let models = catalog::fetch(&self.http, &self.config).await?;
            self.learn(&models);
            Ok(models)
        })
    }

    /// Whether the endpoint takes the key; costs nothing.
    /// Errors: as for a call, without retries.
    pub fn check_key<'a>(&'a self) -> BoxFuture<'a, Result<(), ModelError>> {
        Box::pin(catalog::check_key(&self.http, &self.config))
    }

    /// The request as its model can take it.
    fn as_seen<'a>(&self, request: &'a ModelRequest) -> Cow<'a, ModelRequest> {
        if self.sees(&request.model) {
            Cow::Borrowed(request)
        } else {
            vision::described(request, "this model cannot see pictures")
        }
    }

    /// Takes prices, and who can see, from a list, perhaps one that was kept on disk.
    pub fn learn(&self, models: &[ModelInfo]) {
        let mut book = self.prices.write().unwrap_or_else(PoisonError::into_inner);
        let book = Arc::make_mut(&mut book);
        let mut blind = self.blind.write().unwrap_or_else(PoisonError::into_inner);
        for model in models {
            match model.vision {
                Some(false) => blind.insert(model.id.clone()),
                Some(true) => blind.remove(&model.id),
                None => false,
            };
            if let Some(price) = &model.price {
                book.list(&model.id, price.clone());
            }
        }
    }

    /// The prices it knows now.
    pub fn prices(&self) -> Arc<PriceBook> {
        let book = self.prices.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&book)
    }

    /// The price to reserve a call of `model` at, for [`crate::worst_case`].
    pub fn reserve_price(&self, model: &str) -> Price {
        self.prices().reserve_price(model, &self.config.upper_price)
    }

    /// The models that are left alone for a while, because they kept failing.
    pub fn resting(&self) -> Vec<String> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let rests = |breaker: &Breaker| breaker.state() != BreakerState::Closed;
        let resting = breakers.iter().filter(|(_, breaker)| rests(breaker));
        resting.map(|(model, _)| model.clone()).collect()
    }

    fn at_breaker<R>(&self, model: &str, act: impl FnOnce(&mut Breaker) -> R) -> R {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        act(breakers.entry(model.to_owned()).or_default())
    }

    fn log_body(&self, what: &str, body: &str) {
        match &self.config.redact {
            Some(redact) if tracing::enabled!(tracing::Level::DEBUG) => {
                let shown = redact.apply(body);
                tracing::debug!(bytes = body.len(), body = shown, "model {what}");
            }
            _ => tracing::debug!(bytes = body.len(), "model {what}"),
        }
    }
}

/// A signed reasoning block that the provider no longer accepts fails every
/// later turn: ask once more with none at all.
fn without_reasoning(request: &ModelRequest, error: &ModelError) -> Option<ModelRequest> {
    let ModelError::Rejected(trouble) = error else {
        return None;
    };
    let detail = trouble.detail.to_lowercase();
    let about_it = ["thinking", "reasoning", "signature"];
    if !about_it.iter().any(|word| detail.contains(word)) {
        return None;
    }
    let mut stripped = request.clone();
    let mut any = false;
    for message in &mut stripped.messages {
        let kept =
            matches!(&**message, ModelMessage::Assistant { reasoning, .. } if reasoning.is_some());
        if kept && let ModelMessage::Assistant { reasoning, .. } = Arc::make_mut(message) {
            *reasoning = None;
            any = true;
        }
    }
    any.then_some(stripped)
}
