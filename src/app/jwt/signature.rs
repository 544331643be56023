//! Verifies the signatures of tokens, with the cryptography that TLS uses as well.
//!
//! Not here: the choice of a token's key (`app::jwt::keys`).

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature;
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// The cryptography of the library in this process. It only verifies.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the library verify signatures in this process. May be called more than once.
pub(super) fn install() {
    // Fails if it is installed already.
    let _ = PROVIDER.install_default();
}

/// Returns the verifier of an algorithm with a key. Fails if the key is not one of this algorithm: a public key must
/// never serve as a shared secret.
fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if algorithm.family() != key.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let scheme = Scheme::of(algorithm).ok_or(ErrorKind::UnsupportedAlgorithm)?;
    Ok(Box::new(SignatureVerifier { algorithm, scheme, key: key.kind().clone() }))
}

/// A signature scheme.
#[derive(Clone, Copy)]
enum Scheme {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm),
}

impl Scheme {
    /// Returns the scheme of an algorithm; `None` for algorithms with a shared secret.
    fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Self::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Self::Rsa(&RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Self::Rsa(&RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Self::Rsa(&RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Self::Other(&ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Self::Other(&ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Self::Other(&ED25519),
            _ => return None,
        })
    }
}

/// A verifier of signatures by one key.
struct SignatureVerifier {
    algorithm: Algorithm,
    scheme: Scheme,
    key: DecodingKeyKind,
}

impl JwtVerifier for SignatureVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl signature::Verifier<Vec<u8>> for SignatureVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (self.scheme, &self.key) {
            (Scheme::Rsa(scheme), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(scheme, message, signature)
            }
            (Scheme::Rsa(scheme), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(scheme, key).verify(message, signature)
            }
            (Scheme::Other(scheme), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(scheme, key).verify(message, signature)
            }
            (Scheme::Other(_), DecodingKeyKind::RsaModulusExponent { .. }) => Err(ring::error::Unspecified),
        };
        verified.map_err(|_| signature::Error::new())
    }
}
