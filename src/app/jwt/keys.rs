//! Public keys of an existing application: read from a JWKS (RFC 7517) or from PEM files, and chosen for a token.
//!
//! Not here: fetching a JWKS (`app::jwt::fetch`).
//!
//! # Why a key decides about the algorithm
//! An attacker chooses a token's header. If the header alone decided, a public key could be used as the shared secret
//! of HS256, or a key be used with an algorithm that its owner never meant.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use serde_json::Value;

use crate::app::error::JwtFault;
use crate::model::digest::Digest;

/// Maximum number of keys of a set.
const MOST_KEYS: usize = 16;
/// Maximum number of keys that a token is verified against, if their ids do not tell which of them signed it.
pub(super) const MOST_CANDIDATES: usize = 4;
/// Minimum length of an RSA modulus, in bytes.
const RSA_BYTES: usize = 256;

/// A kind of key, which determines the algorithms that the key is used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeyKind {
    fn fits(self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa => matches!(
                algorithm,
                Algorithm::RS256
                    | Algorithm::RS384
                    | Algorithm::RS512
                    | Algorithm::PS256
                    | Algorithm::PS384
                    | Algorithm::PS512
            ),
            Self::P256 => algorithm == Algorithm::ES256,
            Self::P384 => algorithm == Algorithm::ES384,
            Self::Ed25519 => algorithm == Algorithm::EdDSA,
        }
    }
}

/// A public key that verifies tokens.
#[derive(Clone)]
pub(super) struct VerificationKey {
    /// The key's id; `None` if it has none, as in a PEM file.
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm that the key is meant for; `None` if all algorithms of its kind are.
    algorithm: Option<Algorithm>,
    /// The key as the library takes it.
    pub(super) decoding: DecodingKey,
    /// Digest of the key itself.
    pub(super) digest: Digest,
}

impl VerificationKey {
    fn new(id: Option<String>, kind: KeyKind, algorithm: Option<Algorithm>, decoding: DecodingKey) -> Self {
        let digest = match decoding.kind() {
            DecodingKeyKind::SecretOrDer(key) => Digest::of([Some(&*URL_SAFE_NO_PAD.encode(key)), None]),
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let [n, e] = [n, e].map(|number| URL_SAFE_NO_PAD.encode(number));
                Digest::of([Some(&*n), Some(&*e)])
            }
        };
        Self { id, kind, algorithm, decoding, digest }
    }

    /// Reads a key of a JWKS; `None` if it does not verify signatures, or is of a kind that is not supported.
    fn of_jwk(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let is_for_signatures =
            common.public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
                && common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !is_for_signatures {
            return None;
        }
        let kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => KeyKind::Rsa,
            AlgorithmParameters::EllipticCurve(key) => match key.curve {
                EllipticCurve::P256 => KeyKind::P256,
                EllipticCurve::P384 => KeyKind::P384,
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => KeyKind::Ed25519,
            _ => return None,
        };
        let algorithm = common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
        let decoding = DecodingKey::from_jwk(jwk).ok().filter(|key| has_length_of(kind, key))?;
        let key = Self::new(common.key_id.clone(), kind, algorithm, decoding);
        algorithm.is_none_or(|algorithm| kind.fits(algorithm)).then_some(key)
    }

    /// Reads a PEM block with a public key.
    fn of_pem(block: &str) -> Option<Self> {
        let rsa = || Some((KeyKind::Rsa, DecodingKey::from_rsa_pem(block.as_bytes()).ok()?));
        let curve = |kind| Some((kind, DecodingKey::from_ec_pem(block.as_bytes()).ok()?));
        let edwards = || Some((KeyKind::Ed25519, DecodingKey::from_ed_pem(block.as_bytes()).ok()?));
        let candidates = [rsa(), curve(KeyKind::P256), curve(KeyKind::P384), edwards()];
        let (kind, key) =
            candidates.into_iter().flatten().find(|(kind, decoding)| has_length_of(*kind, decoding))?;
        Some(Self::new(None, kind, None, key))
    }

    fn has_id(&self, id: &str) -> bool {
        self.id.as_deref().is_none_or(|own| own == id)
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        self.kind.fits(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

/// Returns true if a key has the length of its kind. RSA keys must have at least 2,048 bits.
fn has_length_of(kind: KeyKind, key: &DecodingKey) -> bool {
    match (kind, key.kind()) {
        (KeyKind::Rsa, DecodingKeyKind::RsaModulusExponent { n, .. }) => {
            n.iter().skip_while(|byte| **byte == 0).count() >= RSA_BYTES
        }
        // The modulus takes up nearly all of the encoded key.
        (KeyKind::Rsa, DecodingKeyKind::SecretOrDer(key)) => key.len() >= RSA_BYTES,
        (KeyKind::P256, DecodingKeyKind::SecretOrDer(key)) => key.len() == 65,
        (KeyKind::P384, DecodingKeyKind::SecretOrDer(key)) => key.len() == 97,
        (KeyKind::Ed25519, DecodingKeyKind::SecretOrDer(key)) => key.len() == 32,
        (_, DecodingKeyKind::RsaModulusExponent { .. }) => false,
    }
}

/// The keys that verify tokens at some time.
#[derive(Clone, Default)]
pub(super) struct KeySet(Vec<VerificationKey>);

impl KeySet {
    /// Reads a JWKS. Leaves out keys that do not verify signatures, are not supported, or are malformed. Returns `None`
    /// if the document itself is malformed.
    pub(super) fn of_jwks(document: &[u8]) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(document).ok()?;
        let Value::Array(keys) = document.get_mut("keys")?.take() else { return None };
        let all = keys.len();
        let read = |key| VerificationKey::of_jwk(&serde_json::from_value(key).ok()?);
        let keys: Vec<_> = keys.into_iter().filter_map(read).collect();
        if keys.len() < all {
            tracing::debug!(all, usable = keys.len(), "some JWT keys are of no use here");
        }
        Some(Self::limited(keys))
    }

    /// Reads the PEM blocks of a file. Fails with the violated rule if there are none, or if a block is not a public
    /// key.
    pub(super) fn of_pem(text: &str) -> Result<Self, &'static str> {
        const END: &str = "-----END ";
        let mut keys = Vec::new();
        for block in text.split_inclusive(END).collect::<Vec<_>>().windows(2) {
            let [block, end] = block else { continue };
            let Some(begin) = block.find("-----BEGIN ") else { continue };
            let Some((label, _)) = end.split_once("-----") else { continue };
            if label.ends_with("PRIVATE KEY") {
                return Err("contains a private key; only public keys belong here");
            }
            let block = format!("{}{label}-----\n", &block[begin..]);
            let is_public = ["PUBLIC KEY", "RSA PUBLIC KEY"].contains(&label);
            let key = is_public.then(|| VerificationKey::of_pem(&block)).flatten();
            keys.push(key.ok_or(
                "contains a block that is not a public key for RSA (of at least 2,048 bits), P-256, P-384 or Ed25519",
            )?);
        }
        if keys.is_empty() {
            return Err("contains no public key in PEM form");
        }
        Ok(Self::limited(keys))
    }

    fn limited(mut keys: Vec<VerificationKey>) -> Self {
        if keys.len() > MOST_KEYS {
            tracing::warn!(keys = keys.len(), "only the first {MOST_KEYS} JWT keys are used");
            keys.truncate(MOST_KEYS);
        }
        Self(keys)
    }

    /// Returns the union of two sets.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::limited(self.0)
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if a key is in the set.
    pub(super) fn contains(&self, key: Digest) -> bool {
        self.0.iter().any(|own| own.digest == key)
    }

    /// Returns the keys that may have signed a token with this key id and algorithm: at least one, and at most
    /// [`MOST_CANDIDATES`].
    pub(super) fn candidates(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<&VerificationKey>, JwtFault> {
        let mut keys: Vec<_> = self.0.iter().filter(|key| id.is_none_or(|id| key.has_id(id))).collect();
        if keys.is_empty() {
            return Err(JwtFault::UnknownKey);
        }
        keys.retain(|key| key.fits(algorithm));
        keys.truncate(MOST_CANDIDATES);
        if keys.is_empty() { Err(JwtFault::Algorithm) } else { Ok(keys) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

    fn read(keys: &Value) -> KeySet {
        KeySet::of_jwks(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn curve() -> Value {
        json!({ "kty": "EC", "crv": "P-256", "kid": "a", "x": X, "y": Y })
    }

    /// Returns the key above with other members.
    fn curve_with(changes: &Value) -> Value {
        let mut key = curve();
        key.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        key
    }

    #[test]
    fn keys_that_verify_no_signatures_are_left_out() {
        assert_eq!(read(&json!([curve()])).len(), 1);
        assert_eq!(
            read(&json!([curve_with(&json!({ "use": "sig", "key_ops": ["verify"], "alg": "ES256" }))])).len(),
            1
        );
        let useless = [
            curve_with(&json!({ "use": "enc" })),
            curve_with(&json!({ "key_ops": ["sign"] })),
            curve_with(&json!({ "alg": "HS256" })),
            curve_with(&json!({ "alg": "ES384" })),
            curve_with(&json!({ "alg": "ECDH-ES" })),
            curve_with(&json!({ "crv": "P-384" })),
            curve_with(&json!({ "x": "AAAA" })),
            curve_with(&json!({ "kty": "unknown" })),
            json!({ "kty": "oct", "kid": "a", "k": X }),
            json!({ "kty": "oct", "kid": "a", "alg": "HS256", "k": X }),
            json!({ "kty": "RSA", "kid": "a", "n": X, "e": "AQAB" }),
            json!({ "kty": "OKP", "crv": "Ed448", "kid": "a", "x": X }),
            json!("key"),
            json!({}),
        ];
        for key in useless {
            assert_eq!(read(&json!([key, curve()])).len(), 1, "{key}");
        }
        assert_eq!(read(&json!(vec![curve(); 40])).len(), MOST_KEYS);
        for malformed in ["{}", "<html>", "[]", "{\"keys\":{}}"] {
            assert!(KeySet::of_jwks(malformed.as_bytes()).is_none(), "{malformed}");
        }
    }

    #[test]
    fn a_key_is_chosen_by_its_id_and_used_with_its_own_algorithm() {
        let set = read(&json!([curve(), curve_with(&json!({ "kid": "b" }))]));
        let fault = |id, algorithm| set.candidates(id, algorithm).map(|keys| keys.len());
        assert_eq!(fault(Some("a"), Algorithm::ES256), Ok(1));
        assert_eq!(fault(None, Algorithm::ES256), Ok(2));
        assert_eq!(fault(Some("c"), Algorithm::ES256), Err(JwtFault::UnknownKey));
        for algorithm in [Algorithm::HS256, Algorithm::ES384, Algorithm::RS256, Algorithm::EdDSA] {
            assert_eq!(fault(Some("a"), algorithm), Err(JwtFault::Algorithm), "{algorithm:?}");
        }
        let many = read(&json!(vec![curve(); 8]));
        assert_eq!(many.candidates(None, Algorithm::ES256).map(|keys| keys.len()), Ok(MOST_CANDIDATES));
        let without_id = read(&json!([{ "kty": "EC", "crv": "P-256", "x": X, "y": Y }]));
        assert_eq!(without_id.candidates(Some("a"), Algorithm::ES256).map(|keys| keys.len()), Ok(1));
    }

    #[test]
    fn a_key_keeps_its_digest_whatever_its_id_is() {
        let set = read(&json!([curve()]));
        assert!(read(&json!([curve_with(&json!({ "kid": "b" }))])).contains(set.0[0].digest));
        let other = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "a", "x": X });
        assert!(!read(&json!([other])).contains(set.0[0].digest));
    }
}
