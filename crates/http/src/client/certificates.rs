//! Whom a client trusts.

use std::path::Path;

use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// An agent that trusts these, and that follows no redirect by itself.
pub(super) fn open_agent(roots: RootCerts) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .user_agent(concat!("planwright/", env!("CARGO_PKG_VERSION")));
    config.build().new_agent()
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
