//! The command line of the Rust client in `client.rs`:
//!
//! ```sh
//! cargo run --example client -- http://127.0.0.1:8080/graphql ada demo-password
//! ```

#![expect(clippy::print_stdout, reason = "a program that prints a feed")]

mod client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, username, password] = &arguments[..] else {
        return Err("usage: client <url> <username> <password>".into());
    };
    for line in client::read_feed(url, username, password)? {
        println!("{line}");
    }
    Ok(())
}
