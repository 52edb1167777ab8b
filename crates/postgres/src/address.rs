//! The address of a database: what it says, how the server is reached, and how it is shown without its password.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use planwright::ports::Secret;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What an address begins with, in any case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The parameters that are shown as they were written: none can hold a password.
const SHOWN: [&str; 7] = [
    "hostaddr",
    "port",
    "target_session_attrs",
    "load_balance_hosts",
    "channel_binding",
    "connect_timeout",
    "tcp_user_timeout",
];

/// The other parameters of the client.
const TAKEN: [&str; 9] = [
    "user",
    "dbname",
    "host",
    "application_name",
    "options",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
];

/// What counts where an address does not say it.
const DEFAULTS: &str = "application_name=planwright&connect_timeout=10&tcp_user_timeout=20&keepalives_idle=10&\
    keepalives_interval=5&keepalives_retries=3";

/// What a name in an address is not written with.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a Postgres database, `postgres://USER@HOST:PORT/DATABASE?NAME=VALUE`. Its `Display` holds what was
/// understood of it, but for passwords: of an address that does not read it is the scheme.
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
    scheme: &'static str,
    secrets: Vec<Secret>,
    said: Result<Said, String>,
}

/// What an address says.
#[derive(Clone)]
struct Said {
    config: Config,
    /// Whether it asks for encryption, if it says so.
    encrypted: Option<bool>,
    authority: Option<String>,
    patience: Duration,
    /// It without its scheme and its passwords.
    shown: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.scheme, self.said.as_ref().map_or("", |said| &said.shown))
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
        let (scheme, rest) = SCHEMES.iter().find_map(|scheme| {
            let (start, rest) = text.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some((*scheme, rest))
        })?;
        let mut written = Vec::new();
        let said = read(scheme, rest, &mut written);
        // Any of what does not read may be a password.
        written.extend(said.is_err().then(|| rest.to_owned()));
        let meant: Vec<_> = written.iter().map(|text| decode(text)).collect();
        let secrets = written.into_iter().chain(meant).filter(|password| !password.is_empty());
        Some(Address { scheme, secrets: secrets.map(Secret::new).collect(), said })
    }

    /// The passwords in the address, as they are written and as they are meant.
    pub fn secrets(&self) -> Vec<Secret> {
        self.secrets.clone()
    }

    /// Whether the connection is encrypted.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn is_encrypted(&self) -> Result<bool, String> {
        Ok(self.resolve()?.config.get_ssl_mode() == SslMode::Require)
    }

    /// How the server is reached.
    pub(crate) fn resolve(&self) -> Result<Server, String> {
        let Said { mut config, encrypted, authority, patience, .. } = self.said.clone()?;
        let addresses = config.get_hostaddrs().to_vec();
        if config.get_hosts().is_empty() {
            // The certificate is checked against this.
            for address in &addresses {
                config.host(address.to_string());
            }
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        let is_here = config.get_hosts().iter().all(is_here) && addresses.iter().all(IpAddr::is_loopback);
        let encrypted = encrypted.unwrap_or(authority.is_some() || !is_here);
        config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
        Ok(Server { config, tls: encrypt(authority.as_deref())?, patience })
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Reads what is behind the scheme. `passwords` takes those in it as they are written, also where it does not read. No
/// error repeats any of it.
fn read(scheme: &str, rest: &str, passwords: &mut Vec<String>) -> Result<Said, String> {
    // The client's parser looks for the query behind the first `@`, and so a password may hold a `?`.
    let (login, place) = rest.split_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
    let password = login.and_then(|login| login.split_once(':')).map(|(_, password)| password);
    passwords.extend(password.map(str::to_owned));
    if password.and_then(|text| text.split_once('?')).is_some_and(|(_, query)| query.contains('=')) {
        return Err(
            "found an `@` behind the `?`; expected %40 there, or %3F for a `?` in a password".to_owned()
        );
    }
    let (place, query) = place.split_once('?').unwrap_or((place, ""));
    let (mut kept, mut shown) = (DEFAULTS.to_owned(), Vec::new());
    let (mut encrypted, mut authority, mut patience) = (None, None, 20);
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, written) = part.split_once('=').ok_or("expected NAME=VALUE behind the `?`")?;
        let (name, value) = (decode(name), decode(written));
        match &*name {
            "sslmode" => match &*value {
                "disable" => encrypted = Some(false),
                "require" | "verify-full" => encrypted = Some(true),
                _ => return Err("expected sslmode disable or verify-full".to_owned()),
            },
            "sslrootcert" => authority = Some(value),
            "lease_timeout" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
                patience = seconds.ok_or("expected lease_timeout in seconds, from 1 to 3600")?;
            }
            "password" => passwords.push(written.to_owned()),
            name if SHOWN.contains(&name) || TAKEN.contains(&name) => {}
            _ => return Err(format!("found a parameter that is not known; {}", list_parameters())),
        }
        if !["sslmode", "sslrootcert", "lease_timeout"].contains(&&*name) {
            kept = format!("{kept}&{part}");
        }
        if name != "password" && !TAKEN.contains(&&*name) {
            shown.push(part);
        }
    }
    let login = login.map(|login| format!("{login}@")).unwrap_or_default();
    // The parser says which parameter it does not take, and never shows a value.
    let config: Config =
        format!("{scheme}{login}{place}?{kept}").parse().map_err(|error| crate::fault::chain(&error))?;
    check_names(&config)?;
    let shown = show(&config, &shown);
    Ok(Said { config, encrypted, authority, patience: Duration::from_secs(patience), shown })
}

fn list_parameters() -> String {
    let ours = ["sslmode", "sslrootcert", "lease_timeout", "password"];
    let all: Vec<_> = ours.into_iter().chain(SHOWN).chain(TAKEN).collect();
    format!("expected {}", all.join(", "))
}

/// Refuses names that are none: they may be parts of a password.
fn check_names(config: &Config) -> Result<(), String> {
    let is_odd = |name: &str, marks: &[char]| name.contains(marks) || name.contains(char::is_control);
    if config.get_user().is_some_and(|user| is_odd(user, &[':', '/', '?', '#', ','])) {
        return Err("expected the name of a role before the `@`, or ROLE:PASSWORD".to_owned());
    }
    if config.get_dbname().is_some_and(|name| is_odd(name, &[':', '/', '?', '#', ',', '@'])) {
        return Err(
            "expected the name of a database behind the `/`; in a password, write %40 for an `@`".to_owned()
        );
    }
    for host in config.get_hosts() {
        let Host::Tcp(name) = host else { continue };
        if name.contains(',') {
            let form = "postgres://USER@A:5432,B:5432/DATABASE?target_session_attrs=read-write";
            return Err(format!("found several servers in `host`; expected {form}"));
        }
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-._:%".contains(c)) {
            return Err("expected the name of a server; in a password, write %40 for an `@`".to_owned());
        }
    }
    Ok(())
}

/// What was understood of an address, without passwords, so that it can be read again.
fn show(config: &Config, parameters: &[&str]) -> String {
    let escape = |name: &str| utf8_percent_encode(name, ESCAPED).to_string();
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(nth, host)| {
        let host = match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => escape(&path.to_string_lossy()),
        };
        match ports.get(nth).or(ports.first()) {
            None | Some(5432) => host,
            Some(port) => format!("{host}:{port}"),
        }
    });
    let hosts: Vec<_> = hosts.collect();
    let user = config.get_user().filter(|user| !user.is_empty()).map(|user| escape(user) + "@");
    let database = config.get_dbname().map(|name| format!("/{}", escape(name)));
    // The port of a server is shown beside its name.
    let beside = |part: &&&str| hosts.is_empty() || !part.starts_with("port=");
    let parameters: Vec<&str> = parameters.iter().filter(beside).copied().collect();
    let query = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    format!("{}{}{}{query}", user.unwrap_or_default(), hosts.join(","), database.unwrap_or_default())
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
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
        if roots.is_empty() {
            return Err(unread(&"there is no certificate in it"));
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
