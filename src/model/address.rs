//! Client addresses, reduced to the part that identifies a client.
//!
//! Not here: finding the client address of a request (`http::address`).

// `core::net` provides only address values, no sockets.
use core::net::{IpAddr, Ipv6Addr};

use crate::model::digest::Digest;

/// A client address: an IPv4 address or the first half of an IPv6 address.
///
/// # Why half
/// A client with one IPv6 address usually controls the 2⁶⁴ addresses that share its first half, and may use a
/// different address each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(IpAddr);

impl Address {
    /// Returns the fixed-length digest used in storage keys.
    ///
    /// The digest only avoids storing addresses in plain text. It does not hide them: there are few enough
    /// IPv4 addresses to try them all.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(&self.0.to_string())])
    }

    /// Returns a digest specific to one account. Such digests do not reveal that two accounts share an
    /// address.
    #[must_use]
    pub fn digest_for(&self, account: Digest) -> Digest {
        Digest::of([Some(&account.to_string()), Some(&self.0.to_string())])
    }
}

impl From<IpAddr> for Address {
    /// Converts an address. An IPv4-mapped IPv6 address counts as IPv4.
    fn from(address: IpAddr) -> Self {
        const FIRST_HALF: u128 = !0 << 64;
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & FIRST_HALF).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_with_the_same_first_half_are_one() {
        let address = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(address("2001:db8:1:2::3"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::3"), address("2001:db8:1:3::3"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("::ffff:192.0.2.1"), address("::ffff:192.0.2.2"));
    }
}
