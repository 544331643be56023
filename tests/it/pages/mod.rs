//! The web pages, in a browser.

mod page;
