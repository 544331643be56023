//! Determines the IP address of a client.
//!
//! # Why `X-Forwarded-For` and not `Forwarded`
//! A proxy that writes one of these headers passes the other on as the client sent it, so the server can trust only one
//! of them. Most proxies write the older `X-Forwarded-For`.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::model::address::Address;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The mark of a request that arrived on a Unix socket. Only a process on this machine can have sent it, which the
/// server trusts like a proxy.
#[derive(Clone, Copy)]
pub(super) struct Local;

/// Returns the IP address of the client that sent a request; `None` if neither the peer nor a proxy names one.
///
/// This is the peer's address, unless the peer is a trusted proxy or connected to a Unix socket. Each proxy appends the
/// address from which it received the request, so the header is reliable from its end backwards, up to the first
/// untrusted address.
pub(super) fn of(headers: &HeaderMap, extensions: &Extensions, trusted: &[IpNet]) -> Option<Address> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    let mut nearest = peer.map(|ConnectInfo(peer)| peer.ip().to_canonical());
    if nearest.is_none() && extensions.get::<Local>().is_none() {
        return None;
    }
    let values = headers.get_all(FORWARDED_FOR).iter().rev();
    // A non-ASCII byte from the client must not hide the addresses that proxies have appended.
    let mut addresses = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
    while nearest.is_none_or(|nearest| is_trusted(nearest, trusted)) {
        // An invalid address is treated as missing.
        let Some(next) = addresses.next().and_then(|text| read(std::str::from_utf8(text).ok()?)) else {
            break;
        };
        nearest = Some(next);
    }
    nearest.map(Address::from)
}

/// Returns true if a request comes from a trusted proxy, or arrived on a Unix socket.
pub(super) fn is_of_proxy(extensions: &Extensions, trusted: &[IpNet]) -> bool {
    match extensions.get::<ConnectInfo<SocketAddr>>() {
        Some(ConnectInfo(peer)) => is_trusted(peer.ip(), trusted),
        None => extensions.get::<Local>().is_some(),
    }
}

/// Returns true if a peer is in one of the trusted networks.
pub(super) fn is_trusted(peer: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&peer.to_canonical()))
}

/// Parses an IP address, optionally with a port, which some proxies append.
fn read(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|with_port: SocketAddr| with_port.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, Request};

    use super::*;

    fn found(peer: &str, headers: &[&str], trusted: &[&str]) -> Option<Address> {
        let mut request = Request::new(());
        for header in headers {
            request.headers_mut().append(FORWARDED_FOR, header.parse().unwrap());
        }
        if !peer.is_empty() {
            request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 9_999)));
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        of(request.headers(), request.extensions(), &trusted)
    }

    fn address(text: &str) -> Address {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn the_header_is_accepted_from_trusted_proxies_only() {
        let header = ["198.51.100.1"];
        assert_eq!(found("192.0.2.1", &header, &[]), Some(address("192.0.2.1")));
        assert_eq!(found("192.0.2.1", &header, &["10.0.0.0/8"]), Some(address("192.0.2.1")));
        assert_eq!(found("10.1.1.1", &header, &["10.0.0.0/8"]), Some(address("198.51.100.1")));
        assert_eq!(found("::ffff:10.1.1.1", &header, &["10.0.0.0/8"]), Some(address("198.51.100.1")));
        assert_eq!(found("10.1.1.1", &[], &["10.0.0.0/8"]), Some(address("10.1.1.1")));
        assert_eq!(found("", &header, &["0.0.0.0/0"]), None);
    }

    #[test]
    fn a_peer_on_a_unix_socket_is_a_proxy_without_an_address() {
        let found = |headers: &[&str]| {
            let mut request = Request::new(());
            for header in headers {
                request.headers_mut().append(FORWARDED_FOR, header.parse().unwrap());
            }
            request.extensions_mut().insert(Local);
            of(request.headers(), request.extensions(), &["10.0.0.0/8".parse().unwrap()])
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&["unknown"]), None);
        assert_eq!(found(&["203.0.113.9, 198.51.100.1"]), Some(address("198.51.100.1")));
        assert_eq!(found(&["198.51.100.1, 10.2.2.2"]), Some(address("198.51.100.1")));
    }

    #[test]
    fn trusted_proxies_and_peers_on_a_unix_socket_are_proxies() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let from = |peer: &str| {
            let mut extensions = Extensions::new();
            extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 9_999)));
            is_of_proxy(&extensions, &trusted)
        };
        assert_eq!(["10.1.1.1", "::ffff:10.1.1.1", "192.0.2.1"].map(from), [true, true, false]);
        let mut local = Extensions::new();
        assert!(!is_of_proxy(&local, &trusted), "its origin is unknown");
        local.insert(Local);
        assert!(is_of_proxy(&local, &trusted));
    }

    #[test]
    fn the_last_address_that_is_not_trusted_counts_whatever_precedes_it() {
        let trusted = ["10.0.0.0/8", "2001:db8:ffff::/48"];
        for (headers, expected) in [
            (&["203.0.113.9, 198.51.100.1, 10.2.2.2"][..], "198.51.100.1"),
            (&["203.0.113.9", "198.51.100.1,10.2.2.2", "2001:db8:ffff::1"], "198.51.100.1"),
            (&["198.51.100.1:4711"], "198.51.100.1"),
            (&["[2001:db8::1]:4711, 10.2.2.2:80"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["::ffff:198.51.100.1"], "198.51.100.1"),
            (&["10.3.3.3, 10.2.2.2"], "10.3.3.3"),
        ] {
            assert_eq!(found("10.1.1.1", headers, &trusted), Some(address(expected)), "{headers:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_hide_no_address_that_a_proxy_has_added() {
        for client in [&b"\xff"[..], b"a\x80b", b"203.0.113.9\xe9", b"\xc3\xbc, \xff"] {
            let added = [client, b", 198.51.100.1"].concat();
            let mut request = Request::new(());
            request.headers_mut().append(FORWARDED_FOR, HeaderValue::from_bytes(&added).unwrap());
            let peer = SocketAddr::new("10.1.1.1".parse().unwrap(), 9_999);
            request.extensions_mut().insert(ConnectInfo(peer));
            let trusted = ["10.0.0.0/8".parse().unwrap()];
            assert_eq!(
                of(request.headers(), request.extensions(), &trusted),
                Some(address("198.51.100.1")),
                "{added:?}"
            );
        }
    }

    #[test]
    fn before_an_invalid_address_the_last_valid_one_counts() {
        for header in ["unknown", "198.51.100.1, ", "198.51.100.1, _hidden", "198.51.100.1 203.0.113.9", ""] {
            assert_eq!(
                found("10.1.1.1", &[header], &["10.0.0.0/8"]),
                Some(address("10.1.1.1")),
                "{header:?}"
            );
            let behind_another = format!("{header}, 10.2.2.2");
            assert_eq!(found("10.1.1.1", &[&behind_another], &["10.0.0.0/8"]), Some(address("10.2.2.2")));
        }
    }
}
