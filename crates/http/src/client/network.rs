//! How a client gets to its server: whom it trusts, and through whom it goes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy, ProxyProtocol};

use super::address::show_address;

/// How a client gets to its server, in place of what the environment says.
#[derive(Clone, Default)]
pub struct Network {
    /// A file of certificates in PEM to trust instead of the usual ones. `SSL_CERT_FILE` names one for every client.
    pub ca_file: Option<PathBuf>,
    /// The address of a proxy, without a password: `http://proxy.example:3128`. `ALL_PROXY`, else `HTTPS_PROXY`, else
    /// `HTTP_PROXY` names the one for every client, `NO_PROXY` what is reached without. This machine always is.
    pub proxy: Option<String>,
    /// The longest time between two pieces of what a tool is answered. Default: ten seconds. Models have one of
    /// their own.
    pub idle_timeout: Option<Duration>,
}

/// Shows no password of the proxy.
impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.proxy.as_deref().map(show_address);
        f.debug_struct("Network").field("ca_file", &self.ca_file).field("proxy", &proxy).finish()
    }
}

impl Network {
    /// The proxy that is named here. Without one, that of the environment holds, all of whose variables must read: what
    /// does not would be passed over without a word.
    pub(super) fn open_proxy(&self) -> Result<Option<Proxy>, String> {
        if let Some(address) = &self.proxy {
            let found = "one with a user name, which belongs into HTTPS_PROXY";
            return match address.contains('@') {
                true => Err(refuse_proxy("proxy", found)),
                false => parse_proxy("proxy", address.trim()).map(Some),
            };
        }
        for name in PROXIES {
            let value = std::env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty());
            if let Some(value) = value {
                parse_proxy(name, value.to_str().unwrap_or_default())?;
            }
        }
        Ok(None)
    }
}

/// The variables that name a proxy.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

fn refuse_proxy(place: &str, found: &str) -> String {
    format!("{place}: expected the address of a proxy such as \"http://proxy.example:3128\", found {found}")
}

/// Parses the address of a proxy. An error shows none that may hold a password.
fn parse_proxy(place: &str, address: &str) -> Result<Proxy, String> {
    let unreadable = || {
        let shown = format!("{:?}", show_address(address));
        refuse_proxy(place, if address.contains('@') { "one that does not read" } else { &shown })
    };
    let proxy = Proxy::new(address).map_err(|_| unreadable())?;
    let authority = proxy.uri().authority().ok_or_else(unreadable)?;
    // A port that is none would be the usual one.
    let is_plain = authority.as_str().rsplit('@').next() == Some(authority.host());
    if authority.port_u16().is_none() && !is_plain {
        return Err(unreadable());
    }
    match proxy.protocol() {
        ProxyProtocol::Http | ProxyProtocol::Https => Ok(proxy),
        protocol => Err(refuse_proxy(place, &format!("{protocol}, which is not spoken here"))),
    }
}

/// An agent that trusts these, and that follows no redirect by itself.
pub(super) fn open_agent(roots: RootCerts, proxy: Option<Proxy>) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .user_agent(concat!("planwright/", env!("CARGO_PKG_VERSION")));
    // Without one, that of the environment stays.
    let config = proxy.into_iter().fold(config, |config, proxy| config.proxy(Some(proxy)));
    config.build().new_agent()
}

/// The certificates in the file that `SSL_CERT_FILE` names, else the usual ones; and what is wrong with that file.
pub(super) fn find_roots() -> (RootCerts, Result<(), String>) {
    let named = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty());
    match named.map(|path| read_certificates(path.as_ref())) {
        Some(Ok(roots)) => (roots, Ok(())),
        Some(Err(problem)) => (RootCerts::WebPki, Err(format!("SSL_CERT_FILE: {problem}"))),
        None => (RootCerts::WebPki, Ok(())),
    }
}

/// The certificates in a file, in PEM.
pub(super) fn read_certificates(file: &Path) -> Result<RootCerts, String> {
    let place = file.display();
    let text = std::fs::read(file).map_err(|error| format!("{place}: {error}"))?;
    let certificates = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        Ok(_) | Err(_) => None,
    });
    let certificates: Vec<_> = certificates.collect();
    match certificates.is_empty() {
        true => Err(format!("{place}: expected certificates in PEM, found none")),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}
