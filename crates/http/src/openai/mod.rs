//! Any server with an OpenAI-compatible chat-completions endpoint: OpenAI, Ollama, llama.cpp,
//! vLLM, LM Studio, LiteLLM and their like.
//!
//! A request asks for the reply's form as strictly as the server takes it, and what a server was
//! found not to take is not asked again (`dialect`). Failures that may pass are tried again after a
//! wait; everything else is reported at once, in the server's own words (`server_error`).
//!
//! **Invariant:** a request that has given text to a token sink is not tried again, so no text is
//! streamed twice. The number of requests for one question is bounded.

mod body;
mod calls;
mod config;
mod dialect;
mod messages;
mod reply;
mod server_error;
mod stream;

pub use config::{OpenAiConfig, StructuredOutput};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::dialect::Dialect;
use self::reply::ReplyError;
use self::server_error::Answer;
use crate::client::{AttemptError, Client, Endpoint, Request, parse_endpoint, show_address};
use planwright::machine::{ModelFailure, ModelReply};
use planwright::ports::{Cause, Model, ModelError, Secret, TokenSink};
use planwright::prompt::ModelRequest;

/// A client of an OpenAI-compatible server.
///
/// ```no_run
/// use planwright::ports::Secret;
/// use planwright_http::{OpenAi, OpenAiConfig};
///
/// let local = OpenAi::new(OpenAiConfig::new("http://localhost:11434/v1", "qwen3"))?;
/// let key = Secret::new(std::env::var("OPENAI_API_KEY").unwrap_or_default());
/// let hosted = OpenAi::new(OpenAiConfig::new("https://api.openai.com/v1", "gpt-4.1-mini").api_key(key))?;
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
pub struct OpenAi {
    config: OpenAiConfig,
    endpoint: Endpoint,
    client: Client,
    /// What each model was found to take, by the model's name.
    learned: Mutex<BTreeMap<String, Dialect>>,
}

impl OpenAi {
    /// Opens a client with these settings. Nothing is sent before the first request.
    ///
    /// # Errors
    /// [`Cause::NotFound`] if the base URL is not an HTTP address, [`Cause::Authentication`] if the
    /// key holds a character that no header can carry.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        let endpoint = parse_endpoint(&config.base_url.0, "/chat/completions")
            .map_err(|message| ModelError::unanswered(Cause::NotFound, message))?;
        let mut client = Client::new();
        client
            .set_key(&config.api_key)
            .map_err(|message| ModelError::unanswered(Cause::Authentication, message))?;
        client.retry = config.retry.clone();
        client.connect_timeout = config.connect_timeout;
        client.max_response_bytes = config.max_response_bytes;
        Ok(OpenAi { config, endpoint, client, learned: Mutex::default() })
    }

    fn dialect_of(&self, model: &str) -> Dialect {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(model).copied().unwrap_or_else(|| Dialect::first(self.config.setting_for(model)))
    }

    /// Keeps a dialect that the server has answered in.
    fn learn(&self, model: &str, dialect: Dialect) {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.entry(model.to_owned()).and_modify(|known| *known = known.with(dialect)).or_insert(dialect);
    }

    /// Asks until the server takes the form of the request, which gets simpler each time.
    fn attempt(
        &self,
        request: &ModelRequest,
        model: &str,
        dialect: &mut Dialect,
        sink: &mut Option<TokenSink<'_>>,
        left: Duration,
    ) -> Result<Answer, AttemptError> {
        let streams = sink.is_some();
        let mut has_streamed = false;
        loop {
            let body = body::render(request, model, *dialect, streams);
            let mut noting = sink.as_deref_mut().map(|sink| {
                |text: &str| {
                    has_streamed = true;
                    sink(text);
                }
            });
            let outcome = self.exchange(&body, noting.as_mut().map(|sink| sink as TokenSink<'_>), left);
            let answer = match outcome {
                Ok(reply) => Ok(Ok(reply)),
                Err(ReplyError::Failure(failure)) => Ok(Err(failure)),
                Err(ReplyError::Attempt(error)) => Err(error),
                Err(ReplyError::Server(error)) => {
                    let simpler = dialect.without_refused(&error, &request.frame, streams);
                    if let Some(simpler) = simpler.filter(|_| !has_streamed) {
                        *dialect = simpler;
                        continue;
                    }
                    let error = error.redact(self.client.secrets());
                    match server_error::conclude(error, request.frame.native_calls) {
                        Ok(answer) => return Ok(answer),
                        Err(error) => Err(error),
                    }
                }
            };
            if answer.is_ok() {
                self.learn(model, *dialect);
            }
            return answer
                .map_err(|error| AttemptError { transient: error.transient && !has_streamed, ..error });
        }
    }

    /// Asks once, in one dialect.
    fn exchange(
        &self,
        body: &[u8],
        sink: Option<TokenSink<'_>>,
        left: Duration,
    ) -> Result<ModelReply, ReplyError> {
        let request = Request { uri: &self.endpoint.0, body: Some(body), idempotency_key: None };
        let mut response = self.client.send(request, left, self.config.call_timeout)?;
        if (200..300).contains(&response.status) {
            stream::read_reply(&self.client, &mut response.body, sink)?.finish()
        } else {
            Err(ReplyError::Server(Box::new(self.client.read_error(response))))
        }
    }

    /// The error as it may leave this client: it names the server and holds no key.
    fn finish_error(&self, error: AttemptError) -> ModelError {
        let message = format!("{}: {}", show_address(&self.config.base_url.0), error.message);
        AttemptError { message: self.client.redact(&message).into_owned(), ..error }.into()
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.config.model
    }

    fn ask(
        &self,
        request: &ModelRequest,
        mut tokens: Option<TokenSink<'_>>,
    ) -> Result<ModelReply, ModelError> {
        let model = request.frame.model.as_deref().unwrap_or(&self.config.model);
        let mut dialect = self.dialect_of(model);
        let answer = self.client.retry.run(Duration::MAX, |left| {
            let left = left.min(self.config.call_timeout);
            self.attempt(request, model, &mut dialect, &mut tokens, left)
        });
        // The name that was asked is the one that a price goes by: servers name the dated or the
        // local file behind it.
        let model = model.to_owned();
        match answer {
            Ok(Ok(reply)) => Ok(ModelReply { model, ..reply }),
            Ok(Err(failure)) => {
                let message = self.client.redact(&failure.message).into_owned();
                Err(ModelError::Failed(ModelFailure { model, message, ..failure }))
            }
            Err(error) => Err(self.finish_error(error)),
        }
    }

    fn secrets(&self) -> Vec<Secret> {
        self.client.secrets().to_vec()
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("config", &self.config).finish_non_exhaustive()
    }
}
