//! Draws progress bars, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar with `steps` steps. It draws on standard error if that is a terminal.
pub(super) fn bar(what: &'static str, steps: u64) -> ProgressBar {
    const TEMPLATE: &str = "{msg:10} {wide_bar} {human_pos}/{human_len} {eta}";
    let bar = ProgressBar::new(steps).with_message(what);
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
