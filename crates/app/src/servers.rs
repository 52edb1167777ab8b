//! The servers of models: which there are, and how to get there. A key is only ever read from the environment.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::{Map, Value};

use crate::config::{ConfigFile, key_from, variable};
use crate::error::{Error, Result};
use crate::overrides::Overrides;
use crate::provider::{ModelTable, Provider};
use planwright::ports::{Cause, Secret};
use planwright_http::{StructuredOutput, show_address};

/// A model behind a server.
#[derive(Clone, Default)]
pub(crate) struct Server {
    /// What it is called on record.
    pub name: String,
    /// Whether a table of `[models]` has this name.
    pub has_table: bool,
    pub provider: Provider,
    pub base_url: String,
    pub model: String,
    pub key: Option<Secret>,
    /// The variable that the key comes from, or would.
    pub key_variable: Option<String>,
    pub headers: Vec<(String, Secret)>,
    pub structured_output: Option<StructuredOutput>,
    pub request: Map<String, Value>,
    pub max_tries: Option<NonZeroU32>,
    pub fallback: Vec<String>,
}

impl Server {
    /// What a user knows it by.
    pub fn place(&self) -> String {
        if self.has_table { format!("[models.{}]", self.name) } else { "the model's server".to_owned() }
    }

    /// What to look at where it did not answer for this cause.
    pub fn advise(&self, cause: Cause) -> String {
        let table = self.has_table.then(|| self.place());
        let (address, model) = match &table {
            Some(table) => (format!("`base_url` of {table}"), "its `model`"),
            None => ("--base-url".to_owned(), "--model"),
        };
        match (cause, &self.key_variable, table) {
            (Cause::Authentication, Some(variable), Some(_)) => format!("check the key in {variable}; "),
            (Cause::Authentication, Some(variable), None) => {
                format!("check the key in {variable}, or name another variable with --api-key-env; ")
            }
            (Cause::Authentication, None, table) => {
                format!("name the variable of its key in `api_key_env` of {}; ", table.unwrap_or_default())
            }
            (Cause::NotFound, ..) => format!("check {address} (it usually ends in /v1) and {model}; "),
            (Cause::Connection, ..) => format!(
                "check that the server runs, {address} is its address and `ca_file` holds its certificate if that is \
                 your own; "
            ),
            (Cause::BadResponse, ..) => {
                format!("check that {address} is {}; ", self.provider.describe_servers())
            }
            _ => String::new(),
        }
    }

    /// Checks the members that its requests are given.
    fn check_request(self) -> Result<Self> {
        let place =
            if self.has_table { format!("[models.{}.request]", self.name) } else { "[request]".into() };
        match ["model", "stream"].into_iter().find(|name| self.request.contains_key(*name)) {
            Some(name) => {
                let problem = format!("{place}: expected no `{name}`, which each request has already");
                let hint = "the setting `model` names the model, and words are streamed where they are shown";
                Err(Error::unusable(problem).hint(hint))
            }
            None => Ok(self),
        }
    }
}

/// The further headers of a server, by the variables that hold their values.
pub(crate) fn resolve_headers(headers: &BTreeMap<String, String>) -> Result<Vec<(String, Secret)>> {
    headers.iter().map(|(name, variable)| Ok((name.clone(), key_from(variable, name)?))).collect()
}

/// The usual key of a provider with the address beside it in the environment, for a table that names neither.
fn find_usual(name: &str, provider: Provider, file: &ConfigFile) -> Result<(Option<String>, Option<Secret>)> {
    let (address, key) = provider.variables();
    let (url, found) = (variable(address)?, variable(key)?.map(Secret::new));
    let shares_key =
        file.api_key_env.is_none() && file.provider.unwrap_or_default().variables() == provider.variables();
    let elsewhere = |other: &&String| other.trim_end_matches('/') != provider.base_url();
    match file.base_url.as_ref().filter(elsewhere) {
        Some(other) if shares_key && url.is_none() && found.is_some() => {
            let (usual, other) = (provider.base_url(), show_address(other));
            let problem = format!("[models.{name}] is asked at {usual}, and {key} is the key of {other}");
            Err(Error::unusable(problem).hint("name `base_url` in the table, with `api_key_env` for a key"))
        }
        _ => Ok((url, found)),
    }
}

/// The servers of `[models]`, by their names. The usual key of a provider goes to its own servers alone.
pub(crate) fn open_named(file: &ConfigFile) -> Result<BTreeMap<String, Server>> {
    let open = |(name, table): (&String, &ModelTable)| -> Result<(String, Server)> {
        let provider = table.provider.unwrap_or_default();
        let (base_url, key) = match (&table.base_url, &table.api_key_env) {
            (url, Some(variable)) => {
                (url.clone(), Some(key_from(variable, &format!("`api_key_env` of [models.{name}]"))?))
            }
            (Some(url), None) => (Some(url.clone()), None),
            (None, None) => find_usual(name, provider, file)?,
        };
        let usual = table.base_url.is_none().then(|| provider.variables().1.to_owned());
        let server = Server {
            name: name.clone(),
            has_table: true,
            provider,
            key_variable: table.api_key_env.clone().or(usual),
            base_url: base_url.unwrap_or_else(|| provider.base_url().to_owned()),
            model: table.model.clone().unwrap_or_else(|| name.clone()),
            key,
            headers: resolve_headers(&table.headers)?,
            structured_output: table.structured_output,
            request: table.request.clone(),
            max_tries: table.max_tries,
            fallback: table.fallback.clone(),
        };
        Ok((name.clone(), server.check_request()?))
    };
    let tables = file.models.iter();
    let named: BTreeMap<String, Server> = tables.map(open).collect::<Result<_>>()?;
    let fallbacks = file.models.iter().map(|(name, table)| (format!("[models.{name}]"), &table.fallback));
    for (place, list) in fallbacks.chain([("the configuration file".to_owned(), &file.fallback)]) {
        if let Some(unknown) = list.iter().find(|name| !named.contains_key(*name)) {
            let problem = format!("`fallback` of {place}: there is no [models.{unknown}]");
            return Err(Error::unusable(problem).hint("name tables of [models] there"));
        }
    }
    Ok(named)
}

/// The server that is asked where a role names none: of the model that is asked for, if it is one of `[models]`.
pub(crate) fn choose_server(
    args: &Overrides,
    file: &ConfigFile,
    named: &BTreeMap<String, Server>,
) -> Result<Option<Server>> {
    let pick = |flag: &Option<String>, name: &str, file: &Option<String>| -> Result<Option<String>> {
        let given = flag.clone().filter(|value| !value.trim().is_empty());
        Ok(given.or(variable(name)?).or_else(|| file.clone()))
    };
    if args.base_url.as_ref().is_some_and(|url| url.trim().is_empty()) {
        return Err(Error::unusable("--base-url: expected an address, found nothing"));
    }
    let model = pick(&args.model, "PLANWRIGHT_MODEL", &file.model)?;
    if args.base_url.is_none()
        && let Some(server) = model.as_ref().and_then(|model| named.get(model))
    {
        let flags = [("--provider", args.provider.is_some()), ("--api-key-env", args.api_key_env.is_some())];
        if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
            let problem =
                format!("{flag}: [models.{}] of the configuration file says it already", server.name);
            return Err(Error::unusable(problem).hint("leave it out, or name the server with --base-url"));
        }
        return Ok(Some(server.clone()));
    }
    let provider = args.provider.or(file.provider).unwrap_or_default();
    let (address, key) = provider.variables();
    let base_url = pick(&args.base_url, address, &file.base_url)?;
    let found = match (&args.api_key_env, &file.api_key_env) {
        (Some(name), _) => Some(key_from(name, "--api-key-env")?),
        (None, Some(name)) => Some(key_from(name, "`api_key_env` in the configuration file")?),
        (None, None) => variable(key)?.map(Secret::new),
    };
    let (usual, offline) = (provider.base_url(), "or answer offline with --offline");
    let place = match (&base_url, &found) {
        (Some(url), _) => format!("the server {}", show_address(url)),
        (None, Some(_)) => format!("{usual} (a key is set)"),
        (None, None) if model.is_none() => return Ok(None),
        (None, None) => {
            let hint =
                format!("set {key} for {usual}, or name your own server with --base-url URL, {offline}");
            return Err(Error::unusable("a model is named, but no key and no server").hint(hint));
        }
    };
    let model = model.ok_or_else(|| {
        let hint = format!("name one with --model NAME or PLANWRIGHT_MODEL, {offline}");
        Error::unusable(format!("no model is named for {place}")).hint(hint)
    })?;
    let server = Server {
        name: model.clone(),
        has_table: false,
        provider,
        key_variable: args.api_key_env.clone().or(file.api_key_env.clone()).or(Some(key.to_owned())),
        base_url: base_url.unwrap_or_else(|| usual.to_owned()),
        model,
        key: found,
        headers: resolve_headers(&file.headers)?,
        structured_output: file.structured_output,
        request: file.request.clone(),
        max_tries: file.max_tries,
        fallback: file.fallback.clone(),
    };
    server.check_request().map(Some)
}
