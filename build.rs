//! Sees to it that the pages of `web/` are embedded anew when they were built anew.

fn main() {
    println!("cargo::rerun-if-changed=web");
}
