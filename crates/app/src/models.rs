//! The model that answers: one, or several by the role that asks, each with those that stand in for it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::error::{Error, Result};
use crate::provider::Provider;
use crate::servers::Server;
use crate::settings::Settings;
use planwright::driver::Cached;
use planwright::machine::ModelReply;
use planwright::ports::{Cause, Model, ModelError, ModelServer, RetrySink, Secret, TokenSink, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::{Digest, RequestFrame, RoleName};
use planwright_http::{Anthropic, Fallback, ModelConfig, OpenAi, Responses, Retry, show_address};
use planwright_offline::Offline;

/// How often a model is tried that others stand in for, unless the settings say.
const TRIES_BEFORE_ANOTHER: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// Opens the model that answers, and says what the screen calls it. The offline model works a reply out as fast as a
/// cache gives it.
pub(crate) fn open_model(settings: &Settings, uses_cache: bool) -> Result<(Arc<dyn Model>, String)> {
    let Some(server) = &settings.server else {
        return Ok((Arc::new(Offline::new()), "the offline model (by rule, no language model)".to_owned()));
    };
    let shown = format!("{} at {}", server.model, show_address(&server.base_url));
    let usual = open_chain(settings, server, uses_cache)?;
    let roles: BTreeMap<RoleName, String> =
        settings.file.roles.iter().map(|(role, table)| (*role, table.model.clone())).collect();
    if settings.named.is_empty() && roles.is_empty() {
        return Ok((usual, shown));
    }
    let open = |(name, server): (&String, &Server)| -> Result<_> {
        Ok((name.clone(), open_chain(settings, server, uses_cache)?))
    };
    let named = settings.named.iter().map(open).collect::<Result<_>>()?;
    Ok((Arc::new(ByRole { usual, named, roles }), shown))
}

/// A model with those that stand in for it.
fn open_chain(settings: &Settings, server: &Server, uses_cache: bool) -> Result<Arc<dyn Model>> {
    let others = &server.fallback;
    let first = open_one(settings, server, uses_cache, !others.is_empty())?;
    if others.is_empty() {
        return Ok(first);
    }
    let mut chain = Fallback::new(&server.name, first);
    for (at, name) in (1..).zip(others) {
        let server = settings.named.get(name).expect("open_named knows every fallback");
        chain = chain.or(name, open_one(settings, server, uses_cache, at < others.len())?);
    }
    Ok(Arc::new(chain))
}

fn open_one(
    settings: &Settings,
    server: &Server,
    uses_cache: bool,
    has_another: bool,
) -> Result<Arc<dyn Model>> {
    let (file, seconds) = (&settings.file, |seconds: NonZeroU64| Duration::from_secs(seconds.get()));
    let usual = ModelConfig::new(&server.base_url, &server.model);
    let tries = server.max_tries.or(has_another.then_some(TRIES_BEFORE_ANOTHER)).or(file.max_tries);
    let config = ModelConfig {
        api_key: server.key.clone().unwrap_or(usual.api_key),
        headers: server.headers.clone(),
        extra: server.request.clone(),
        network: file.network(),
        structured_output: server.structured_output.unwrap_or(usual.structured_output),
        call_timeout: file.call_timeout_seconds.map_or(usual.call_timeout, seconds),
        connect_timeout: file.connect_timeout_seconds.map_or(usual.connect_timeout, seconds),
        idle_timeout: file.idle_timeout_seconds.map_or(usual.idle_timeout, seconds),
        max_response_bytes: file.max_response_bytes.map_or(usual.max_response_bytes, |most| most.get()),
        retry: Retry {
            tries: tries.map_or(usual.retry.tries, NonZeroU32::get),
            longest_wait: file.max_wait_seconds.map_or(usual.retry.longest_wait, Duration::from_secs),
            ..usual.retry
        },
        ..usual
    };
    let refused = |error| match error {
        // What is wrong with the way there names its own setting.
        ModelError::Unanswered(Unanswered { cause: Cause::Connection, message, .. }) => {
            Error::unusable(message)
        }
        ModelError::Unanswered(refused) => Error::at(server.place())(refused.message),
        other => Error::unusable(other),
    };
    let model: Arc<dyn Model> = match server.provider {
        Provider::OpenAi => Arc::new(OpenAi::new(config).map_err(refused)?),
        Provider::Anthropic => Arc::new(Anthropic::new(config).map_err(refused)?),
        Provider::Responses => Arc::new(Responses::new(config).map_err(refused)?),
    };
    let Some(folder) = file.cache.folder.as_ref().filter(|_| uses_cache) else { return Ok(model) };
    // What a reply depends on and no request says. The address may hold a key, so it names no folder itself.
    let asked =
        json!([server.provider, server.base_url, server.structured_output, server.request]).to_string();
    let cached = Cached::new(model, folder.join(Digest::of([asked.as_bytes()]).to_string()));
    let cached = file.cache.entries.into_iter().fold(cached, Cached::max_entries);
    Ok(Arc::new(file.cache.bytes.into_iter().fold(cached, Cached::max_bytes)))
}

/// Asks the model of the role, by the settings or else by the spec: one of its own, or another at the usual server. The
/// name of one of its own goes on record as the server of the reply.
struct ByRole {
    usual: Arc<dyn Model>,
    named: BTreeMap<String, Arc<dyn Model>>,
    roles: BTreeMap<RoleName, String>,
}

impl ByRole {
    fn route<'a>(&'a self, request: &'a ModelRequest) -> (&'a dyn Model, &'a str, Cow<'a, ModelRequest>) {
        let frame = &request.frame;
        let Some(wanted) = self.roles.get(&frame.role).or(frame.model.as_ref()) else {
            return (&*self.usual, "", Cow::Borrowed(request));
        };
        let (model, server, name) = match self.named.get(wanted) {
            Some(named) => (named, &**wanted, None),
            None => (&self.usual, "", Some(wanted.clone())),
        };
        if frame.model == name {
            return (&**model, server, Cow::Borrowed(request));
        }
        let frame = Arc::new(RequestFrame { model: name, ..(**frame).clone() });
        (&**model, server, Cow::Owned(ModelRequest { frame, ..request.clone() }))
    }

    /// The reply with the name of its server. One of a chain has the name of who answered.
    fn signed(reply: ModelReply, server: &str) -> ModelReply {
        match reply.server.is_empty() {
            true => ModelReply { server: server.into(), ..reply },
            false => reply,
        }
    }
}

impl Model for ByRole {
    fn name(&self) -> &str {
        self.usual.name()
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let (model, server, request) = self.route(request);
        Ok(Self::signed(model.ask(&request, tokens)?, server))
    }

    fn ask_until(
        &self,
        request: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let (model, server, request) = self.route(request);
        Ok(Self::signed(model.ask_until(&request, tokens, retrying, stop)?, server))
    }

    fn servers(&self) -> Vec<ModelServer> {
        // What is asked by a name of its own is found by that; of a chain, by the name of who answers.
        let named = self.named.iter().flat_map(|(name, model)| {
            let servers = model.servers().into_iter();
            servers.map(move |server| match server.name.is_empty() {
                true => ModelServer { name: name.clone(), ..server },
                false => server,
            })
        });
        self.usual.servers().into_iter().chain(named).collect()
    }

    fn secrets(&self) -> Vec<Secret> {
        self.named.values().chain([&self.usual]).flat_map(|model| model.secrets()).collect()
    }
}
