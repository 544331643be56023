//! Where a request comes from, as far as it tells who is the same.
//!
//! Not here: how it is found out (`http::address`).

// Of addresses, `core::net` has the values only.
use core::net::{IpAddr, Ipv6Addr};

use crate::model::digest::Digest;

/// The address of a client: an address of IPv4, or the first half of one of IPv6.
///
/// # Why half
/// Whoever has one address of IPv6 mostly has the 2⁶⁴ that share its first half, and may come from another of them
/// each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(IpAddr);

impl Address {
    /// What it is kept under: of one length, whatever it is.
    ///
    /// It keeps addresses from lying about in plain sight, and no more: there are few enough of IPv4 to try them all.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(&self.0.to_string())])
    }

    /// The same for one account: it does not tell that another one is used from there, too.
    #[must_use]
    pub fn digest_for(&self, account: Digest) -> Digest {
        Digest::of([Some(&account.to_string()), Some(&self.0.to_string())])
    }
}

impl From<IpAddr> for Address {
    /// An address of IPv4 is one however it is written.
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
    fn whoever_has_an_address_of_ipv6_has_all_with_the_same_first_half() {
        let address = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(address("2001:db8:1:2::3"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::3"), address("2001:db8:1:3::3"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("::ffff:192.0.2.1"), address("::ffff:192.0.2.2"));
    }
}
