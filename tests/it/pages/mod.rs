//! The web pages, in a browser.

pub(crate) mod page;
