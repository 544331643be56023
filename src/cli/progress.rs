//! Bars for work that takes a while, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of so many steps. Draws on standard error if that is a terminal, else nothing.
pub(super) fn bar(what: &'static str, steps: u64) -> ProgressBar {
    const TEMPLATE: &str = "{msg:10} {wide_bar} {human_pos}/{human_len} {eta}";
    let bar = ProgressBar::new(steps).with_message(what);
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
