//! The address of a database: what it says, how the server is reached, and how it is shown without its password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use planwright::ports::Secret;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What an address begins with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The address of a Postgres database, `postgres://USER@HOST:PORT/DATABASE`, with the parameters that libpq knows.
/// Its `Display` holds no password.
///
/// The connection is encrypted, and the server's certificate checked, unless the server is on this machine or the
/// address says `sslmode=disable`. `sslrootcert=FILE` names the authority that vouches for the server, in PEM; without
/// it those that browsers know count. A password that is not in the address is taken from `PGPASSWORD`.
/// `lease_timeout=SECONDS` says how soon a process that hangs loses its threads: 20 by default.
///
/// ```
/// use planwright_postgres::Address;
///
/// let address = Address::parse("postgres://planwright:geheim@db.example/agents?sslrootcert=/etc/ca.pem").unwrap();
/// assert_eq!(address.to_string(), "postgres://planwright@db.example/agents?sslrootcert=/etc/ca.pem");
/// assert!(Address::parse("threads.db").is_none());
/// ```
#[derive(Clone)]
pub struct Address {
    pub(crate) text: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, query) = self.text.split_once('?').unwrap_or((&self.text, ""));
        let (scheme, rest) = start.split_once("://").unwrap_or_default();
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let user = user.split(':').next().unwrap_or_default();
        write!(f, "{scheme}://{user}{}{place}", if user.is_empty() { "" } else { "@" })?;
        let shown = query.split('&').filter(|part| !part.is_empty() && !part.starts_with("password="));
        shown
            .zip(std::iter::once('?').chain(std::iter::repeat('&')))
            .try_for_each(|(part, mark)| write!(f, "{mark}{part}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl Address {
    /// Takes a text for an address if it begins as one. What is wrong with it shows where it is opened.
    pub fn parse(text: &str) -> Option<Self> {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme)).then(|| Address { text: text.to_owned() })
    }

    /// The passwords in the address, as they are written and as they are meant.
    pub fn secrets(&self) -> Vec<Secret> {
        let rest = self.text.split_once("://").map_or("", |(_, rest)| rest);
        let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
        let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        let named = query.split('&').filter_map(|part| part.strip_prefix("password="));
        let written = user.map(|(_, password)| password).into_iter().chain(named);
        let meant = written.clone().map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
        let all = written.map(str::to_owned).chain(meant);
        all.filter(|password| !password.is_empty()).map(Secret::new).collect()
    }

    /// How the server is reached.
    pub(crate) fn resolve(&self) -> Result<Server, String> {
        let (start, query) = self.text.split_once('?').unwrap_or((&self.text, ""));
        let (mut rest, mut mode, mut authority, mut patience) = (Vec::new(), None, None, 20);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => mode = Some(value),
                "sslrootcert" => authority = Some(value),
                "lease_timeout" => {
                    let seconds = value.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
                    patience = seconds.ok_or("expected lease_timeout in seconds, from 1 to 3600")?;
                }
                _ => rest.push(part),
            }
        }
        let text = format!("{start}?{}", rest.join("&"));
        // The parser says which parameter it does not take, and never shows a value.
        let mut config: Config = text.parse().map_err(|error| crate::fault::chain(&error))?;
        complete(&mut config);
        let is_encrypted = match mode.as_deref() {
            None => !config.get_hosts().iter().all(is_here),
            Some("disable") => false,
            Some("require" | "verify-full") => true,
            Some(_) => return Err("expected sslmode disable or verify-full".to_owned()),
        };
        config.ssl_mode(if is_encrypted { SslMode::Require } else { SslMode::Disable });
        Ok(Server { config, tls: encrypt(authority.as_deref())?, patience: Duration::from_secs(patience) })
    }
}

/// Sets what an address leaves open.
fn complete(config: &mut Config) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host("localhost");
    }
    if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
        config.password(password);
    }
    if config.get_application_name().is_none() {
        config.application_name("planwright");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(10));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(20));
    }
    let (idle, interval) = (Duration::from_secs(10), Duration::from_secs(5));
    config.keepalives_idle(idle).keepalives_interval(interval).keepalives_retries(3);
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn encrypt(authority: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = authority {
        let unread = |error: &dyn fmt::Display| format!("sslrootcert: {path} cannot be read: {error}");
        roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))? {
            let certificate = certificate.map_err(|error| unread(&error))?;
            roots.add(certificate).map_err(|error| unread(&error))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?.with_root_certificates(roots);
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// A server, and how it is reached.
#[derive(Clone)]
pub(crate) struct Server {
    pub config: Config,
    pub tls: MakeRustlsConnect,
    /// After how long a silent holder of threads has lost them.
    pub patience: Duration,
}
