//! Parsers for the values of options.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;
use url::{Host, Url};

/// A URL that is formatted without what may be secret: as `***` if it may contain credentials, and otherwise with `***`
/// instead of its query and fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// Returns the URL, including what is secret.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretUrl {
    /// Accepts any string. The command that opens an invalid URL rejects it, with a message that does not contain the
    /// URL.
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A password may contain any character before the @.
        if self.0.contains('@') {
            return formatter.write_str("***");
        }
        match self.0.find(['?', '#']) {
            Some(end) => write!(formatter, "{}***", &self.0[..=end]),
            None => formatter.write_str(&self.0),
        }
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// Returns true if a text may be a URL with something secret.
pub(super) fn is_secret(text: &str) -> bool {
    mask(text) != text
}

/// Returns true if the reason for which a value was rejected may contain a part of the value.
pub(super) fn quotes(reason: &str, value: &str) -> bool {
    /// Length from which a part of a value is unlikely to be in a reason by chance, in bytes.
    const PART: usize = 4;
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let mut parts = rest.split([':', '/', '@', '?', '&', '=']);
    reason.contains(value) || parts.any(|part| part.len() >= PART && reason.contains(part))
}

/// Returns a text without what is secret, if it may be a URL.
pub(super) fn mask(text: &str) -> String {
    let is_url = text.contains("://") || text.contains("unix:");
    if is_url { SecretUrl::from(text.to_owned()).to_string() } else { text.to_owned() }
}

/// An address that a server listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// The scheme of Unix sockets.
    const UNIX: &str = "unix:";

    /// Returns true for an IP address that only this machine can reach. A Unix socket is not one: browsers cannot use
    /// it, and a process that connects is a proxy for others.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self, Self::Tcp(address) if address.ip().is_loopback())
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(Self::UNIX) {
            Some(path) if !path.is_empty() && !path.contains('\0') => Ok(Self::Unix(path.into())),
            _ => text.parse().map(Self::Tcp).map_err(|_| {
                "an address is an IP address and a port, such as 127.0.0.1:8080, or the path of a Unix socket, \
                    such as unix:/run/fanfold/http.sock"
                    .to_owned()
            }),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "{}{}", Self::UNIX, path.display()),
        }
    }
}

/// The value of `--http-admin-listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// The server has no admin listener.
    Off,
    /// The server has an admin listener at this address.
    At(ListenAddress),
}

impl FromStr for AdminListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|error| format!("{error}; off disables the listener"))
    }
}

/// Parses an origin: a scheme and a host, optionally with a port.
pub(super) fn origin(text: &str) -> Result<String, String> {
    let origin = text.trim().trim_end_matches('/').to_ascii_lowercase();
    let host = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']);
    if origin == "*" || host.is_some_and(is_host) {
        return Ok(origin);
    }
    Err("an origin is a scheme and a host, such as https://app.example.org".to_owned())
}

/// Parses a host name or address, optionally with a port.
pub(super) fn host(text: &str) -> Result<String, String> {
    let host = text.trim().to_ascii_lowercase();
    if host.is_empty() || host.contains(['/', '?', '#', '@', '*', ' ']) {
        return Err(
            "a host is a name or an address, optionally with a port, such as feed.example.org".to_owned()
        );
    }
    Ok(host)
}

/// Parses a host in the form in which URLs have it: ASCII, without the default port. Content security policies name it.
pub(super) fn media_host(text: &str) -> Result<String, String> {
    let host = host(text)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    if !host.bytes().all(allowed) || host.ends_with(":443") {
        return Err("a host of pictures has an ASCII name, such as pictures.example.org or \
            xn--bcher-kva.example, and a port only if it is not 443"
            .to_owned());
    }
    Ok(host)
}

/// Parses a network in CIDR notation, or a single address.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    let network = address.or_else(|_| text.parse());
    network.map_err(|_| "a network is an address or a CIDR range, such as 10.0.0.0/8".to_owned())
}

/// Parses a collector's URL, optionally with a path.
pub(super) fn collector(text: &str) -> Result<String, String> {
    let place = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    if text.is_empty()
        || place.is_some_and(|place| !place.is_empty() && !place.contains(['@', '?', '#', ' ']))
    {
        return Ok(text.to_owned());
    }
    Err("a collector has a URL such as http://127.0.0.1:4318; set its credentials in \
        OTEL_EXPORTER_OTLP_HEADERS"
        .to_owned())
}

/// Parses the URL of a key set. Plain http is accepted for loopback addresses only, as others could replace the keys.
pub(super) fn jwks_url(text: &str) -> Result<SecretUrl, String> {
    let is_loopback = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_plain =
        |url: &Url| url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let is_safe = |url: &Url| url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
    let url = Url::parse(text).ok().filter(|url| is_plain(url) && is_safe(url));
    if text.is_empty() || url.is_some() {
        return Ok(SecretUrl::from(text.to_owned()));
    }
    Err("a key set has an https URL without credentials, such as https://app.example.org/jwks.json; plain http is \
        accepted for loopback addresses only"
        .to_owned())
}

/// Parses a key prefix, which must not contain braces, because braces delimit the hash tags in keys.
pub(super) fn key_prefix(text: &str) -> Result<String, String> {
    if text.len() > 64 {
        return Err("at most 64 bytes".to_owned());
    }
    if text.contains(|character: char| matches!(character, '{' | '}' | ' ') || character.is_control()) {
        return Err("no braces, spaces or control characters".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_queries_of_urls_are_not_printed() {
        let printed = |url: &str| SecretUrl::from(url.to_owned()).to_string();
        assert_eq!(printed("redis://ada:secret@host/0"), "***");
        assert_eq!(printed("redis://ada:sec?ret@host/0"), "***");
        assert_eq!(printed("unix:/run/redis.sock?pass=secret"), "unix:/run/redis.sock?***");
        assert_eq!(printed("https://host/jwks.json?key=secret#secret"), "https://host/jwks.json?***");
        assert_eq!(printed("https://host/#secret"), "https://host/#***");
        assert_eq!(printed("rediss://host:6380/0"), "rediss://host:6380/0");
        assert_eq!(mask("what?"), "what?");
        assert_eq!(mask("https://host/?secret"), "https://host/?***");
    }

    #[test]
    fn an_address_to_listen_on_is_a_port_or_a_path() {
        let printed = |text: &str| text.parse::<ListenAddress>().map(|address| address.to_string());
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/fanfold.sock", "unix:fanfold.sock"] {
            assert_eq!(printed(text).as_deref(), Ok(text));
        }
        for text in ["", "localhost", "127.0.0.1", ":8080", "unix:", "unix:a\0b", "/run/fanfold.sock", "off"]
        {
            assert!(printed(text).is_err(), "{text:?}");
        }
        assert_eq!("off".parse(), Ok(AdminListen::Off));
        assert!("on".parse::<AdminListen>().is_err_and(|error| error.contains("off disables")));
    }

    #[test]
    fn a_site_is_a_scheme_and_a_host() {
        assert_eq!(origin(" HTTPS://A.example:8443/ ").as_deref(), Ok("https://a.example:8443"));
        assert_eq!(origin("*").as_deref(), Ok("*"));
        for text in
            ["", "a.example", "ftp://a.example", "https://", "https://a.example/path", "https://*.example"]
        {
            assert!(origin(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_host_is_a_name_without_a_scheme() {
        assert_eq!(host(" Feed.example.org:8443 ").as_deref(), Ok("feed.example.org:8443"));
        assert_eq!(host("[::1]").as_deref(), Ok("[::1]"));
        for text in ["", "https://a.example", "a.example/", "*.a.example"] {
            assert!(host(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_host_of_pictures_is_written_as_in_urls() {
        assert_eq!(media_host(" Pictures.example:8443").as_deref(), Ok("pictures.example:8443"));
        for text in
            ["", "bücher.example", "a.example:443", "a.example; script-src *", "a.example'", "*.example"]
        {
            assert!(media_host(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_network_is_an_address_perhaps_with_a_length() {
        let printed = |text: &str| network(text).map(|network| network.to_string());
        assert_eq!(printed(" 192.0.2.7 ").as_deref(), Ok("192.0.2.7/32"));
        assert_eq!(printed("2001:db8::/32").as_deref(), Ok("2001:db8::/32"));
        assert_eq!(printed("::ffff:192.0.2.7").as_deref(), Ok("192.0.2.7/32"));
        for text in ["", "10.0.0.0/33", "10.0.0", "localhost", "10.0.0.1:80"] {
            assert!(network(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_collector_is_at_an_address_without_keys() {
        for text in ["http://127.0.0.1:4318", "https://otel.example/below", ""] {
            assert_eq!(collector(text).as_deref(), Ok(text));
        }
        for text in [
            "127.0.0.1:4318",
            "http://",
            "grpc://a.example",
            "https://key@a.example",
            "http://a.example?key=x",
        ] {
            assert!(collector(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_key_set_comes_over_https_or_from_the_same_machine() {
        for text in [
            "https://app.example.org/jwks.json?v=1",
            "http://127.0.0.1:8000/jwks",
            "http://[::1]/",
            "http://localhost/jwks",
            "",
        ] {
            assert_eq!(jwks_url(text).as_ref().map(SecretUrl::expose), Ok(text));
        }
        for text in [
            "http://app.example.org/jwks.json",
            "http://localhost.example.org/",
            "https://ada:secret@app.example.org/",
            "https://app.example.org/#keys",
            "file:///etc/jwks.json",
            "app.example.org",
        ] {
            assert!(jwks_url(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_with_braces_is_rejected() {
        assert!(key_prefix("{a}").is_err());
        assert_eq!(key_prefix("ff:").as_deref(), Ok("ff:"));
    }
}
