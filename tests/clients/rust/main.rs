//! A client in Rust, of which `client.rs` is all that matters:
//!
//! ```sh
//! cargo run --example client -- http://127.0.0.1:8080/graphql ada demo-password
//! ```

#![expect(clippy::print_stdout, reason = "it is a program that tells what it reads")]

mod client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, username, password] = &arguments[..] else {
        return Err("tell me a URL, a name and a password".into());
    };
    for line in client::read_feed(url, username, password)? {
        println!("{line}");
    }
    Ok(())
}
