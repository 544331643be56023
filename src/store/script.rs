//! The scripts: one `.lua` file, one verb. Each opens with what it is for, its keys and arguments,
//! and what it returns; the area that uses it has the typed function that calls it.
//!
//! Not here: when a script is sent by digest and when by source (`store::batch`).

use std::sync::LazyLock;

use redis::{Arg, Cmd, cmd};

/// A script and the digest Redis knows it by.
pub(super) struct Script {
    source: &'static str,
    digest: LazyLock<String>,
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(
            pub(super) static $name: Script = Script {
                source: include_str!(concat!("lua/", $file, ".lua")),
                digest: LazyLock::new(|| digest(include_str!(concat!("lua/", $file, ".lua")))),
            };
        )*
    };
}

scripts! {
    FOLLOW = "follow";
    PAGE = "page";
    CHANGE_NAME = "change_name";
    CHANGE_PASSWORD = "change_password";
    CREATE_USER = "create_user";
    OPEN_SESSION = "open_session";
    RESERVE_NAME = "reserve_name";
    REVOKE_SESSION = "revoke_session";
    TOUCH_SESSION = "touch_session";
    VOID_USER = "void_user";
}

impl Script {
    /// Calls the script by its digest.
    pub(super) fn by_digest(&self, keys: usize, arguments: &Cmd) -> Cmd {
        call("EVALSHA", &self.digest, keys, arguments)
    }

    /// Calls the script by its source, which also makes Redis remember it.
    pub(super) fn by_source(&self, keys: usize, arguments: &Cmd) -> Cmd {
        call("EVAL", self.source, keys, arguments)
    }
}

fn digest(source: &str) -> String {
    redis::Script::new(source).get_hash().to_owned()
}

fn call(name: &str, script: &str, keys: usize, arguments: &Cmd) -> Cmd {
    let mut call = cmd(name);
    call.arg(script).arg(keys);
    for argument in arguments.args_iter() {
        // The other kind of argument is a scan's cursor, which no script takes.
        if let Arg::Simple(bytes) = argument {
            call.arg(bytes);
        }
    }
    call
}
