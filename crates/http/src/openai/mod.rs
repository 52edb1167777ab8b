//! Any server with an OpenAI-compatible chat-completions endpoint: OpenAI, Ollama, llama.cpp,
//! vLLM, LM Studio, LiteLLM and their like.
//!
//! A request asks for the reply's form as strictly as the server takes it, and what a server was
//! found not to take is not asked again (`dialect`). Failures that may pass are tried again after
//! a wait (`retry`); everything else is told at once, with the server's own words (`said`).
//!
//! **Invariant:** a request that has given text to a token sink is not tried again, so no text is
//! told twice. The number of requests for one question is bounded.

mod attempt_error;
mod body;
mod calls;
mod config;
mod dialect;
mod messages;
mod reply;
mod retry;
mod server_error;
mod stream;

pub use config::{OpenAiConfig, StructuredOutput};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ureq::http::Uri;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};

use self::attempt_error::Trouble;
use self::dialect::Dialect;
use self::retry::Tries;
use self::server_error::Said;
use self::stream::Reader;
use crate::transport::{Bounded, Client, retry_after, shown};
use planwright::driver::redact;
use planwright::machine::{ModelFailure, ModelReply};
use planwright::ports::{Cause, Model, ModelError, Secret, TokenSink, Unanswered};
use planwright::prompt::ModelRequest;

/// Most bytes read of what a server says instead of an answer.
const MAX_ERROR_BYTES: usize = 64 * 1024;

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
    endpoint: Uri,
    authorization: Option<HeaderValue>,
    client: Client,
    /// What each model was found to take, by the model's name.
    learned: Mutex<BTreeMap<String, Dialect>>,
    sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl OpenAi {
    /// A client with these settings. Nothing is sent before the first request.
    ///
    /// # Errors
    /// [`Cause::NotFound`] where the base URL is none, [`Cause::Authentication`] where the key
    /// holds a character that no header can carry.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        let endpoint = config::endpoint(&config.base_url)
            .map_err(|message| ModelError::unanswered(Cause::NotFound, message))?;
        let authorization = config.api_key.as_ref().map(bearer).transpose()?;
        let client = Client::new(&endpoint, config.connect_timeout, config.call_timeout);
        let learned = Mutex::default();
        Ok(OpenAi { config, endpoint, authorization, client, learned, sleep: Arc::new(std::thread::sleep) })
    }

    /// Waits between tries with `sleep` instead of the thread's own, so that a test can count the
    /// waits and a program can cut them short.
    #[must_use]
    pub fn with_sleep(mut self, sleep: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.sleep = Arc::new(sleep);
        self
    }

    fn dialect(&self, model: &str) -> Dialect {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(model).copied().unwrap_or_else(|| Dialect::first(self.config.setting_for(model)))
    }

    /// Keeps a dialect that the server has answered in.
    fn learn(&self, model: &str, dialect: Dialect) {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        match learned.get_mut(model) {
            Some(known) => *known = known.with(dialect),
            None => {
                learned.insert(model.to_owned(), dialect);
            }
        }
    }

    /// Asks once, in one dialect.
    fn attempt(&self, body: &[u8], sink: Option<TokenSink<'_>>) -> Result<ModelReply, Trouble> {
        let mut request = self.client.agent().post(&self.endpoint).header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let response = request.send(body).map_err(|error| Trouble::broken(self.client.explain(error)))?;
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        match status {
            200..=299 => {
                let body = Bounded::new(body.into_reader(), self.config.max_response_bytes);
                Reader { client: &self.client, secrets: self.keys() }.read(body, sink)?.finish()
            }
            300..=399 => Err(Trouble::redirect(&head.headers)),
            _ => {
                let mut bytes = Vec::new();
                // Whatever part of the message could be read is better than none.
                let _ = Bounded::new(body.into_reader(), MAX_ERROR_BYTES).read_to_end(&mut bytes);
                let text = String::from_utf8_lossy(&bytes);
                let delay = retry_after(&head.headers, SystemTime::now());
                Err(Trouble::Said(Said::with_status(status, &text, delay)))
            }
        }
    }

    fn keys(&self) -> &[Secret] {
        self.config.api_key.as_slice()
    }

    /// The error as it may leave this client: it names the server and holds no key.
    fn told(&self, error: ModelError, tries: u32) -> ModelError {
        let clean = |text: &str| redact(text, self.keys()).into_owned();
        match error {
            ModelError::Failed(mut failure) => {
                failure.message = clean(&failure.message);
                ModelError::Failed(failure)
            }
            ModelError::Unanswered(unanswered) => {
                let message = format!("{}: {}", shown(&self.config.base_url), unanswered.message);
                ModelError::Unanswered(Unanswered { message: clean(&message), tries, ..unanswered })
            }
        }
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
        let frame = &*request.frame;
        let model = frame.model.as_deref().unwrap_or(&self.config.model);
        let streams = tokens.is_some();
        let mut dialect = self.dialect(model);
        let mut tries = Tries::new(self.config.max_tries, self.config.max_wait);
        let mut told_any = false;
        loop {
            let body = body::render(request, model, dialect, streams);
            let mut sink = tokens.as_deref_mut().map(|tokens| {
                |text: &str| {
                    told_any = true;
                    tokens(text);
                }
            });
            let outcome = self.attempt(&body, sink.as_mut().map(|sink| sink as TokenSink<'_>));
            let (error, passing) = match outcome {
                Ok(reply) => {
                    self.learn(model, dialect);
                    return Ok(named(reply, model));
                }
                Err(Trouble::Said(said)) => {
                    let simpler = dialect.without_refused(&said, frame, streams).filter(|_| !told_any);
                    if let Some(simpler) = simpler {
                        dialect = simpler;
                        continue;
                    }
                    let said = if frame.native_calls { said.about_tools() } else { said };
                    match said.without(self.keys()).outcome() {
                        Ok(reply) => return Ok(named(reply, model)),
                        Err(error) => error,
                    }
                }
                Err(Trouble::Failed(error)) => {
                    self.learn(model, dialect);
                    let error = match error {
                        ModelError::Failed(failure) => {
                            ModelError::Failed(ModelFailure { model: model.to_owned(), ..failure })
                        }
                        other => other,
                    };
                    (error, false)
                }
                Err(Trouble::Unanswered { error, passing }) => (ModelError::Unanswered(error), passing),
            };
            match tries.wait_after(&error, passing && !told_any) {
                Some(wait) => (self.sleep)(wait),
                None => return Err(self.told(error, tries.made())),
            }
        }
    }

    fn secrets(&self) -> Vec<Secret> {
        self.config.api_key.iter().cloned().collect()
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The reply under the name that was asked, which is the one that a price goes by: servers name
/// the dated or the local file behind it.
fn named(reply: ModelReply, model: &str) -> ModelReply {
    ModelReply { model: model.to_owned(), ..reply }
}

fn bearer(key: &Secret) -> Result<HeaderValue, ModelError> {
    let unfit = || {
        let message = "expected a key of visible ASCII characters, found one that no header can carry \
                       (a line break?)";
        ModelError::unanswered(Cause::Authentication, message)
    };
    if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unfit());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| unfit())?;
    value.set_sensitive(true);
    Ok(value)
}
