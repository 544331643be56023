//! Options of sign-in from an existing application, which issues JSON Web Tokens (JWT).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::config::value::{SecretUrl, jwks_url};

/// Options of sign-in from an existing application.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sign-in from an existing application")]
pub struct JwtConfig {
    /// URL of the public keys (JWKS) of an application whose users sign in with the JSON Web Tokens (JWT) that it
    /// issues.
    ///
    /// https, or http to a loopback address. A token's issuer and subject determine the user, who is created at the
    /// first request. The server reads the keys at start and every few minutes, and once for a token with an unknown
    /// key id. Needs --jwt-issuer and --jwt-audience.
    #[arg(long, value_name = "URL", env = "FANFOLD_JWT_JWKS_URL", value_parser = jwks_url)]
    pub jwt_jwks_url: Option<SecretUrl>,

    /// PEM files with the application's public keys, separated by commas, instead of --jwt-jwks-url.
    ///
    /// The server reads the files at start. They may contain four keys in all.
    #[arg(long, value_name = "FILES", env = "FANFOLD_JWT_PUBLIC_KEYS", value_delimiter = ',')]
    pub jwt_public_keys: Vec<PathBuf>,

    /// Issuer that a token must name (`iss`), exactly as the application writes it.
    #[arg(long, value_name = "ISSUER", env = "FANFOLD_JWT_ISSUER")]
    pub jwt_issuer: Option<String>,

    /// Audiences of which a token must name one (`aud`), separated by commas.
    #[arg(long, value_name = "AUDIENCES", env = "FANFOLD_JWT_AUDIENCE", value_delimiter = ',')]
    pub jwt_audience: Vec<String>,

    /// Signature algorithms that are accepted, separated by commas. Each key is accepted for its own kind of algorithm
    /// only.
    #[arg(long, value_name = "ALGORITHMS", env = "FANFOLD_JWT_ALGORITHMS", value_delimiter = ',')]
    #[arg(ignore_case = true)]
    #[arg(default_value = "RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,EdDSA")]
    pub jwt_algorithms: Vec<JwtAlgorithm>,

    /// Difference between the clocks of the application and this server that is tolerated, in seconds.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_JWT_LEEWAY", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=600))]
    pub jwt_leeway: u32,

    /// Claim that suggests the username of a new user.
    ///
    /// The part before an @ counts. Characters other than a to z, 0 to 9 and _ are replaced or left out, and digits are
    /// appended if the name is taken.
    #[arg(long, value_name = "CLAIM", env = "FANFOLD_JWT_USERNAME_CLAIM")]
    #[arg(default_value = "preferred_username")]
    pub jwt_username_claim: String,
}

/// Signature algorithms with public keys. There are no others: with a shared secret, each holder could issue tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names are those of RFC 7518 and RFC 8037")]
pub enum JwtAlgorithm {
    #[value(name = "RS256")]
    Rs256,
    #[value(name = "RS384")]
    Rs384,
    #[value(name = "RS512")]
    Rs512,
    #[value(name = "PS256")]
    Ps256,
    #[value(name = "PS384")]
    Ps384,
    #[value(name = "PS512")]
    Ps512,
    #[value(name = "ES256")]
    Es256,
    #[value(name = "ES384")]
    Es384,
    #[value(name = "EdDSA")]
    EdDsa,
}

/// The origin of an application's public keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtSource<'a> {
    /// A URL of a JWKS.
    Url(&'a SecretUrl),
    /// PEM files.
    Files(&'a [PathBuf]),
}

impl JwtConfig {
    /// Returns the origin of the public keys; `None` if users sign in with passwords only. Fails if options are missing
    /// or contradict each other. Empty values count as unset.
    pub fn source(&self) -> Result<Option<JwtSource<'_>>, &'static str> {
        let is_file = |path: &&PathBuf| !path.as_os_str().is_empty();
        let url = self.jwt_jwks_url.as_ref().filter(|url| !url.expose().is_empty());
        let has_files = self.jwt_public_keys.iter().find(is_file).is_some();
        let source = match (url, has_files) {
            (Some(_), true) => return Err("set --jwt-jwks-url or --jwt-public-keys, not both"),
            (Some(url), false) => JwtSource::Url(url),
            (None, true) => JwtSource::Files(&self.jwt_public_keys),
            (None, false) if self.issuer().is_some() || self.audiences().next().is_some() => {
                return Err("--jwt-issuer and --jwt-audience need --jwt-jwks-url or --jwt-public-keys");
            }
            (None, false) => return Ok(None),
        };
        if self.issuer().is_none() {
            return Err("sign-in with JWT needs --jwt-issuer");
        }
        if self.audiences().next().is_none() {
            return Err("sign-in with JWT needs --jwt-audience");
        }
        Ok(Some(source))
    }

    /// Returns the issuer that a token must name.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.jwt_issuer.as_deref().filter(|issuer| !issuer.is_empty())
    }

    /// Returns the audiences of which a token must name one.
    pub fn audiences(&self) -> impl Iterator<Item = &str> {
        self.jwt_audience.iter().map(|audience| audience.trim()).filter(|audience| !audience.is_empty())
    }

    /// Returns the tolerated difference between clocks.
    #[must_use]
    pub fn leeway(&self) -> Duration {
        Duration::from_secs(self.jwt_leeway.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        jwt: JwtConfig,
    }

    fn parse(options: &[&str]) -> Result<JwtConfig, String> {
        let all = ["test"].iter().chain(options);
        Options::try_parse_from(all).map(|options| options.jwt).map_err(|error| error.to_string())
    }

    const RULES: [&str; 4] = ["--jwt-issuer", "https://a.example", "--jwt-audience", "feed"];

    #[test]
    fn a_source_of_keys_needs_an_issuer_and_an_audience() {
        let url = "https://a.example/jwks.json";
        assert_eq!(parse(&[]).unwrap().source(), Ok(None));
        assert!(parse(&RULES).unwrap().source().is_err());
        for some in [&RULES[..2], &RULES[2..], &[]] {
            let config = parse(&[&["--jwt-jwks-url", url], some].concat()).unwrap();
            assert!(config.source().is_err(), "{some:?}");
        }
        let config = parse(&[&["--jwt-jwks-url", url], &RULES[..]].concat()).unwrap();
        let source = JwtSource::Url(&SecretUrl::from(url.to_owned()));
        assert_eq!(config.source(), Ok(Some(source)));
        let config = parse(&[&["--jwt-public-keys", "a.pem,b.pem"], &RULES[..]].concat()).unwrap();
        assert!(matches!(config.source(), Ok(Some(JwtSource::Files([_, _])))));
        let both = ["--jwt-jwks-url", url, "--jwt-public-keys", "a.pem"];
        assert!(parse(&[&both, &RULES[..]].concat()).unwrap().source().is_err());
        assert_eq!(parse(&["--jwt-jwks-url", "", "--jwt-issuer", ""]).unwrap().source(), Ok(None));
    }

    #[test]
    fn a_symmetric_algorithm_is_no_value() {
        assert_eq!(parse(&[]).unwrap().jwt_algorithms.len(), JwtAlgorithm::value_variants().len());
        let only = parse(&["--jwt-algorithms", "es256,EdDSA"]).unwrap().jwt_algorithms;
        assert_eq!(only, [JwtAlgorithm::Es256, JwtAlgorithm::EdDsa]);
        for algorithm in ["HS256", "none", "RS256,HS512", ""] {
            assert!(parse(&["--jwt-algorithms", algorithm]).is_err(), "{algorithm:?}");
        }
    }
}
