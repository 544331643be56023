//! An application that issues JSON Web Tokens, and serves the public keys that verify them.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RsaKeyPair,
    RsaPublicKeyComponents,
};
use rsa::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use rsa::rand_core::OsRng;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::harness::world::ManualClock;

pub(crate) const ISSUER: &str = "https://app.example.org";
pub(crate) const AUDIENCE: &str = "feed";

/// Options of a server that accepts tokens, without the source of the keys.
pub(crate) const RULES: [&str; 4] = ["--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE];

/// The time at which every world begins, in seconds.
pub(crate) const NOW: i64 = ManualClock::BEGINNING / 1_000;

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key pair of the application.
pub(crate) struct SigningKey {
    pair: Pair,
    pub(crate) pem: String,
    /// The private key in PEM form.
    pub(crate) private: String,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Curve(EcdsaKeyPair, &'static str),
    Edwards(Ed25519KeyPair),
}

/// Creates RSA keys once, since that takes a while.
static RSA: LazyLock<SigningKey> = LazyLock::new(|| {
    let key = rsa::RsaPrivateKey::new(&mut OsRng, 2_048).unwrap();
    let private = key.to_pkcs8_der().unwrap();
    SigningKey {
        pair: Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(private.as_bytes()).unwrap())),
        pem: key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap(),
        private: key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string(),
    }
});

impl SigningKey {
    pub(crate) fn rsa() -> &'static Self {
        &RSA
    }

    pub(crate) fn p256() -> Self {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let scheme = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(scheme, &key.serialize_der(), &SystemRandom::new()).unwrap();
        Self { pair: Pair::Curve(pair, "P-256"), pem: key.public_key_pem(), private: key.serialize_pem() }
    }

    pub(crate) fn p384() -> Self {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
        let scheme = &ECDSA_P384_SHA384_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(scheme, &key.serialize_der(), &SystemRandom::new()).unwrap();
        Self { pair: Pair::Curve(pair, "P-384"), pem: key.public_key_pem(), private: key.serialize_pem() }
    }

    pub(crate) fn ed25519() -> Self {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key.serialize_der()).unwrap();
        Self { pair: Pair::Edwards(pair), pem: key.public_key_pem(), private: key.serialize_pem() }
    }

    /// Returns the public key as a JWK with this id.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        match &self.pair {
            Pair::Rsa(pair) => {
                let RsaPublicKeyComponents { n, e } = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "kid": id, "use": "sig", "n": base64(n), "e": base64(e) })
            }
            Pair::Curve(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({ "kty": "EC", "kid": id, "crv": curve, "x": base64(x), "y": base64(y) })
            }
            Pair::Edwards(pair) => {
                json!({ "kty": "OKP", "kid": id, "crv": "Ed25519", "x": base64(pair.public_key()) })
            }
        }
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match (&self.pair, algorithm) {
            (Pair::Rsa(pair), _) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = match algorithm {
                    "RS512" => pair.sign(&RSA_PKCS1_SHA512, &random, message, &mut signature),
                    "PS256" => pair.sign(&RSA_PSS_SHA256, &random, message, &mut signature),
                    "PS384" => pair.sign(&RSA_PSS_SHA384, &random, message, &mut signature),
                    _ => pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature),
                };
                signed.unwrap();
                signature
            }
            (Pair::Curve(pair, _), _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            (Pair::Edwards(pair), _) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// Issues a token with this header and these claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let algorithm = header["alg"].as_str().unwrap_or_default();
        format!("{message}.{}", base64(self.signature(algorithm, message.as_bytes())))
    }
}

/// Returns the part of a token that is signed.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64(header.to_string()), base64(claims.to_string()))
}

/// Returns the claims of a token that is valid for five minutes from the beginning of a world.
pub(crate) fn claims(subject: &str) -> Value {
    json!({
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": subject,
        "exp": NOW + 300,
        "preferred_username": subject,
        "name": format!("{subject}'s name"),
    })
}

/// Returns claims with these changes; null removes a claim.
pub(crate) fn with(mut claims: Value, changes: &Value) -> Value {
    let object = claims.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(object.remove(name)),
            value => drop(object.insert(name.clone(), value.clone())),
        }
    }
    claims
}

/// A server of the application's public keys.
pub(crate) struct Issuer {
    pub(crate) url: String,
    served: Arc<Served>,
}

struct Served {
    /// The status line, further headers and body of the response.
    response: Mutex<(String, String, String)>,
    delay: Mutex<Duration>,
    fetches: AtomicUsize,
}

impl Issuer {
    pub(crate) fn start(keys: &[Value]) -> Self {
        Self::serve(keys, None)
    }

    /// Serves the keys over HTTPS, with a certificate for `localhost` that is written to this file.
    pub(crate) fn start_with_tls(keys: &[Value], certificate: &Path) -> Self {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(certificate, signed.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth();
        let config = config.with_single_cert(vec![signed.cert.der().clone()], key).unwrap();
        Self::serve(keys, Some(Arc::new(config)))
    }

    fn serve(keys: &[Value], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let origin = if tls.is_some() { "https://localhost" } else { "http://127.0.0.1" };
        let url = format!("{origin}:{port}/jwks.json");
        let response = Mutex::new(("200 OK".to_owned(), String::new(), jwks(keys)));
        let served = Arc::new(Served { response, delay: Mutex::default(), fetches: AtomicUsize::new(0) });
        let serving = Arc::clone(&served);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (served, tls) = (Arc::clone(&serving), tls.clone());
                std::thread::spawn(move || match tls {
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        served.respond(StreamOwned::new(connection, stream));
                    }
                    None => served.respond(stream),
                });
            }
        });
        Self { url, served }
    }

    /// Replaces the keys.
    pub(crate) fn publish(&self, keys: &[Value]) {
        self.respond("200 OK", "", &jwks(keys));
    }

    /// Replaces the response. `headers` is empty, or lines with their ends.
    pub(crate) fn respond(&self, status: &str, headers: &str, body: &str) {
        *self.served.response.lock().unwrap() = (status.to_owned(), headers.to_owned(), body.to_owned());
    }

    /// Delays all responses.
    pub(crate) fn delay(&self, delay: Duration) {
        *self.served.delay.lock().unwrap() = delay;
    }

    /// Returns the number of times that the keys were fetched.
    pub(crate) fn fetches(&self) -> usize {
        self.served.fetches.load(Ordering::SeqCst)
    }

    /// Returns the options of a server that accepts the tokens of this application.
    pub(crate) fn options(&self) -> Vec<&str> {
        [&["--jwt-jwks-url", self.url.as_str()], &RULES[..]].concat()
    }
}

fn jwks(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

impl Served {
    fn respond(&self, stream: impl Read + Write) {
        let mut stream = BufReader::new(stream);
        let lines = stream.by_ref().lines();
        let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        // The client may reject the certificate.
        let Some(first) = head.first() else { return };
        assert!(first.starts_with("GET /jwks.json "), "{head:?}");
        self.fetches.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(*self.delay.lock().unwrap());
        let (status, headers, body) = self.response.lock().unwrap().clone();
        let length = body.len();
        // The client may have gone.
        let _ = write!(
            stream.get_mut(),
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
    }
}
