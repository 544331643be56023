//! The configuration file, its precedence, and the commands `config`, `completions` and `man`.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use clap::{Arg, ArgAction, Args as _};
use fanfold::config::{FILE_NAME, ServerConfig, Switch};
use tempfile::TempDir;

use crate::harness::server::{Server, command};
use crate::harness::world::Redis;

const SECRET: &str = "topsecret";

/// A row of the table: an option, and the values that the tests give it.
struct Row {
    option: String,
    section: String,
    name: String,
    variable: String,
    former: Vec<String>,
    /// Values in the form of the command line.
    samples: Vec<String>,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bool,
    Number,
    Text,
    List,
}

impl Row {
    /// Returns a row for every option of the server, with what clap knows of it.
    fn all() -> Vec<Self> {
        let command = ServerConfig::augment_args(clap::Command::new("fanfold"));
        command.get_arguments().filter(|arg| arg.get_long().is_some()).map(Self::of).collect()
    }

    fn of(arg: &Arg) -> Self {
        let option = arg.get_long().unwrap().to_owned();
        let (section, name) = option.split_once('-').unwrap_or_else(|| panic!("--{option} has no section"));
        let variable = arg.get_env().and_then(|name| name.to_str()).expect("every option has a variable");
        let type_id = arg.get_value_parser().type_id();
        let is_number = [TypeId::of::<u8>(), TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>()]
            .into_iter()
            .any(|number| type_id == number);
        let form = match arg.get_action() {
            ArgAction::SetTrue => Form::Bool,
            ArgAction::Append => Form::List,
            _ if type_id == TypeId::of::<Switch>() => Form::Bool,
            _ if is_number => Form::Number,
            _ => Form::Text,
        };
        let former = arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned).collect();
        Self {
            section: section.to_owned(),
            name: name.replace('-', "_"),
            variable: variable.to_owned(),
            former,
            samples: samples(arg, form),
            form,
            option,
        }
    }

    /// Returns a value as TOML.
    fn literal(&self, sample: &str) -> String {
        match self.form {
            Form::Bool => ["true", "on"].contains(&sample).to_string(),
            Form::Number => sample.to_owned(),
            Form::Text => format!("\"{sample}\""),
            Form::List => format!("[\"{sample}\"]"),
        }
    }

    fn sample(&self, index: usize) -> &str {
        &self.samples[index % self.samples.len()]
    }

    fn key(&self) -> (String, String) {
        (self.section.clone(), self.name.clone())
    }
}

/// Returns values of an option that its parser accepts, as different from its default as possible. A new kind of option
/// needs a candidate here.
fn samples(arg: &Arg, form: Form) -> Vec<String> {
    const TEXTS: [&str; 8] = [
        "debug",
        "trace",
        "a.example",
        "https://a.example",
        "https://b.example",
        "10.0.0.0/8",
        "127.0.0.1:18080",
        "127.0.0.1:18081",
    ];
    let default = arg.get_default_values().first().map_or("", |default| default.to_str().unwrap());
    let option = arg.get_long().unwrap();
    if arg.get_action().takes_values() {
        let choices: Vec<String> =
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let candidates: Vec<String> = match form {
            _ if !choices.is_empty() => choices,
            Form::Number => {
                let number: u64 = default.parse().unwrap_or(10_000);
                [number + 1, number.saturating_sub(1), number / 10, 2, 3]
                    .map(|number| number.to_string())
                    .to_vec()
            }
            _ => TEXTS.map(str::to_owned).to_vec(),
        };
        let is_valid = |sample: &String| {
            let command = clap::Command::new("fanfold").no_binary_name(true).arg(arg.clone());
            sample != default && command.try_get_matches_from([format!("--{option}={sample}")]).is_ok()
        };
        let samples: Vec<String> = candidates.into_iter().filter(is_valid).collect();
        assert!(!samples.is_empty(), "there is no sample value for --{option}");
        return samples;
    }
    vec!["true".to_owned(), "false".to_owned()]
}

/// Returns a file that sets each option to one of its samples, and the line of each option.
fn file_of(rows: &[Row], index: usize) -> (String, BTreeMap<(String, String), usize>) {
    let mut sections: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        sections.entry(&row.section).or_default().push(row);
    }
    let (mut lines, mut places) = (Vec::new(), BTreeMap::new());
    for (section, rows) in sections {
        lines.push(format!("[{section}]"));
        for row in rows {
            lines.push(format!("{} = {}", row.name, row.literal(row.sample(index))));
            places.insert(row.key(), lines.len());
        }
    }
    (lines.join("\n"), places)
}

/// The output of `config print`: the value and the source of each option that has a value.
fn printed(output: &Output) -> BTreeMap<(String, String), (String, String)> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    toml::from_str::<toml::Table>(&page).expect("the output is a configuration file");
    let (mut section, mut printed) = (String::new(), BTreeMap::new());
    for line in page.lines() {
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut section);
        } else if let Some((name, rest)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let (value, source) = rest.rsplit_once(" # ").expect("every value has a source");
            printed.insert((section.clone(), name.to_owned()), (value.to_owned(), source.to_owned()));
        }
    }
    printed
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns a command that runs in an empty directory, without variables of the tests' environment.
fn fanfold(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command.env_clear().current_dir(directory.path());
    command
}

fn print(directory: &TempDir, arguments: &[&str]) -> Output {
    fanfold(directory, &[&["config", "print"], arguments].concat()).output().unwrap()
}

fn write(directory: &TempDir, name: &str, text: &str) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_option_is_set_by_flag_over_environment_over_file_over_default() {
    let directory = tempfile::tempdir().unwrap();
    let rows = Row::all();
    assert!(rows.len() > 60, "the options were found");

    let defaults = printed(&print(&directory, &[]));
    assert!(defaults.values().all(|(_, source)| source == "default"), "{defaults:?}");

    let (page, lines) = file_of(&rows, 0);
    write(&directory, "all.toml", &page);
    let in_file = printed(&print(&directory, &["--config", "all.toml"]));
    for row in &rows {
        let expected = (row.literal(row.sample(0)), format!("all.toml:{}", lines[&row.key()]));
        assert_eq!(in_file[&row.key()], expected, "--{} in a file", row.option);
    }

    let by_environment = |name: &dyn Fn(&Row) -> Option<String>| {
        let mut command = fanfold(&directory, &["config", "print", "--config", "all.toml"]);
        for row in &rows {
            if let Some(name) = name(row) {
                command.env(name, row.sample(1));
            }
        }
        printed(&command.output().unwrap())
    };
    let in_environment = by_environment(&|row| Some(row.variable.clone()));
    for row in &rows {
        let expected = (row.literal(row.sample(1)), format!("environment {}", row.variable));
        assert_eq!(in_environment[&row.key()], expected, "{}", row.variable);
    }

    let with_flags = |name: &dyn Fn(&Row) -> Option<String>| {
        let mut command = fanfold(&directory, &["config", "print", "--config", "all.toml"]);
        for row in &rows {
            command.env(&row.variable, row.sample(1));
            if let Some(name) = name(row) {
                command.arg(format!("--{name}={}", row.sample(2)));
            }
        }
        printed(&command.output().unwrap())
    };
    let on_command_line = with_flags(&|row| Some(row.option.clone()));
    for row in &rows {
        let expected = (row.literal(row.sample(2)), "command line".to_owned());
        assert_eq!(on_command_line[&row.key()], expected, "--{}", row.option);
    }

    // The former names, which `--help` does not show.
    let former = |row: &Row| row.former.first().cloned();
    let former_variable = |name: &str| format!("FANFOLD_{}", name.replace('-', "_").to_uppercase());
    let in_environment = by_environment(&|row| former(row).map(|name| former_variable(&name)));
    let on_command_line = with_flags(&former);
    let renamed: Vec<&Row> = rows.iter().filter(|row| !row.former.is_empty()).collect();
    assert!(renamed.len() > 20, "the former names were found");
    for row in renamed {
        let name = former(row).unwrap();
        let expected = (row.literal(row.sample(1)), format!("environment {}", former_variable(&name)));
        assert_eq!(in_environment[&row.key()], expected, "{name}");
        let expected = (row.literal(row.sample(2)), "command line".to_owned());
        assert_eq!(on_command_line[&row.key()], expected, "--{name}");
    }
}

#[test]
fn only_options_of_a_single_run_and_the_path_of_the_file_are_no_keys() {
    let help = text(&command(&["serve", "--help"]).output().unwrap().stdout);
    let options =
        help.split("\n      --").skip(1).map(|option| option.split([' ', '[', '\n']).next().unwrap());
    let rows = Row::all();
    let others = options.filter(|option| rows.iter().all(|row| row.option != *option));
    assert_eq!(others.collect::<Vec<_>>(), ["config"]);
}

#[test]
fn a_present_variable_takes_precedence_over_a_former_one_and_an_empty_one_counts_as_unset() {
    let directory = tempfile::tempdir().unwrap();
    write(
        &directory,
        "some.toml",
        "[http]\nthreads = 3\n[redis]\nurl = \"redis://a.example\"\nprefix = \"x:\"\n",
    );
    let mut command = fanfold(&directory, &["config", "print", "--config", "some.toml"]);
    command.env("FANFOLD_LISTEN", "127.0.0.1:1").env("FANFOLD_HTTP_LISTEN", "127.0.0.1:2");
    command.env("FANFOLD_HTTP_SOCKETS_PER_USER", "").env("FANFOLD_SOCKETS_PER_USER", "7");
    command.env("FANFOLD_HTTP_THREADS", "").env("FANFOLD_REDIS_URL", "").env("FANFOLD_REDIS_PREFIX", "");
    let printed = printed(&command.env("FANFOLD_CONFIG", "").output().unwrap());
    let value = |section: &str, name: &str| {
        let (value, source) = &printed[&(section.to_owned(), name.to_owned())];
        format!("{value} {source}")
    };
    assert_eq!(value("http", "listen"), "\"127.0.0.1:2\" environment FANFOLD_HTTP_LISTEN");
    assert_eq!(value("http", "sockets_per_user"), "7 environment FANFOLD_SOCKETS_PER_USER");
    assert_eq!(value("http", "threads"), "3 some.toml:2");
    assert_eq!(value("redis", "url"), "\"redis://a.example\" some.toml:4");
    // An empty prefix is a value.
    assert_eq!(value("redis", "prefix"), "\"\" environment FANFOLD_REDIS_PREFIX");
}

#[test]
fn a_switch_in_the_file_is_turned_off_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "on.toml", "[log]\nrequests = true\n[session]\nsingle = true\n");
    let printed = printed(&print(&directory, &["--config", "on.toml", "--log-requests=false"]));
    let value = |section: &str, name: &str| printed[&(section.to_owned(), name.to_owned())].0.clone();
    assert_eq!([value("log", "requests"), value("session", "single")], ["false", "true"]);
}

#[test]
fn malformed_files_are_rejected_with_the_line_and_the_nearest_name() {
    let cases: [(&str, &str); 24] = [
        (
            "[http]\nlisen = \"127.0.0.1:1\"",
            "line 2, column 1: unknown key http.lisen; did you mean http.listen?",
        ),
        ("listen = \"127.0.0.1:1\"", "line 1, column 1: unknown key listen; did you mean http.listen?"),
        ("data-dir = \"x\"", "line 1, column 1: unknown key data-dir; did you mean data.dir?"),
        ("\n[htpp]\nlisten = 1", "line 2, column 2: unknown section [htpp]; did you mean [http]?"),
        (
            "[sessions]\nsingle = true",
            "line 1, column 2: unknown section [sessions]; did you mean [session]?",
        ),
        ("[kitchen]", "line 1, column 2: unknown section [kitchen]; the sections are http, "),
        (
            "[post]\nhot-limit = 5",
            "line 2, column 1: unknown key post.hot-limit; did you mean post.hot_limit?",
        ),
        ("[log]\nlog = \"json\"", "line 2, column 1: unknown key log.log; did you mean log.format?"),
        ("[http]\nurl = \"x\"", "line 2, column 1: unknown key http.url; did you mean "),
        (
            "[media]\nfrobnicate = 1",
            "line 2, column 1: unknown key media.frobnicate; the keys of [media] are hosts",
        ),
        ("[archive]\nuntil_empty = true", "line 2, column 1: unknown key archive.until_empty; "),
        ("config = \"x.toml\"", "line 1, column 1: unknown key config; "),
        ("[http]\nthreads = 0", "line 2, column 11: http.threads: 0 is not in 1..=256"),
        (
            "[http]\nthreads = \"4\"",
            "line 2, column 11: http.threads: expected a whole number, found a string",
        ),
        ("[http]\nthreads = 1.5", "line 2, column 11: http.threads: expected a whole number, found a float"),
        (
            "[http]\nhosts = \"a\"",
            "line 2, column 9: http.hosts: expected a list, such as [\"a\", \"b\"], found a string",
        ),
        (
            "[http]\nhosts = [\"a\",\n \"b/c\"]",
            "line 3, column 2: http.hosts: a host is a name or an address",
        ),
        ("[http]\nhosts = [\"a,b\"]", "line 2, column 10: http.hosts: an item cannot contain `,`"),
        (
            "[redis]\nreplica_reads = 1",
            "line 2, column 17: redis.replica_reads: expected true or false, found an integer",
        ),
        (
            "[visit]\naudience = \"off\"",
            "line 2, column 12: visit.audience: expected true or false, found a string",
        ),
        (
            "[timeline]\nstrategy = \"pushy\"",
            "line 2, column 12: timeline.strategy: expected one of: hybrid, push, pull",
        ),
        ("http = 5", "line 1, column 1: http is a section, written [http], but the file has an integer"),
        ("[http]\nthreads = 1\nthreads = 2", "line 3, column 1: duplicate key"),
        ("[http\nthreads = 1", "line 1, column 6: unclosed table"),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (page, expected) in cases {
        let path = write(&directory, "bad.toml", page);
        for arguments in [&["config", "check", "bad.toml"][..], &["check", "--config", "bad.toml"]] {
            let output = fanfold(&directory, arguments).output().unwrap();
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{page}");
            assert!(stderr.starts_with("error: the configuration file bad.toml is invalid\n"), "{stderr}");
            assert!(stderr.contains(expected), "{page}\n{stderr}");
        }
        fs::remove_file(path).unwrap();
    }
    fs::write(directory.path().join("bad.toml"), b"[http]\n# \xff").unwrap();
    let output = fanfold(&directory, &["config", "check", "bad.toml"]).output().unwrap();
    assert!(text(&output.stderr).contains("line 2, column 3: the file is not encoded as UTF-8"));
}

#[test]
fn a_check_reports_all_faults_and_is_silent_about_none() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "bad.toml", "[htp]\n[log]\nformat = \"xml\"\nrequest = true\n[http]\nthreads = 0\n");
    let output = fanfold(&directory, &["config", "check", "bad.toml"]).output().unwrap();
    let places: Vec<String> = text(&output.stderr)
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("line ")?.split_once(':').map(|(place, _)| place.to_owned())
        })
        .collect();
    assert_eq!(places, ["1, column 2", "3, column 10", "4, column 1", "6, column 11"]);

    write(
        &directory,
        "urls.toml",
        "[redis]\nurl = \"http://a\"\n[archive]\nurl = \"x\"\n[log]\nfilter = \"a=b=c\"\n",
    );
    let output = fanfold(&directory, &["config", "check", "urls.toml"]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr.matches("error: ").count()), (Some(1), 3), "{stderr}");

    write(&directory, "good.toml", "[http]\nthreads = 1\n");
    let output = fanfold(&directory, &["config", "check", "good.toml"]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "good.toml is valid\n".to_owned()));
    assert!(output.stderr.is_empty());
}

#[test]
fn the_file_in_the_data_directory_is_read_unless_another_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let threads = |arguments: &[&str]| {
        printed(&print(&directory, arguments)).remove(&("http".to_owned(), "threads".to_owned()))
    };
    assert_eq!(threads(&[]), None);
    fs::create_dir_all(directory.path().join("fanfold-data")).unwrap();
    write(
        &directory,
        &format!("fanfold-data/{FILE_NAME}"),
        "[http]\nthreads = 2\n[data]\ndir = \"fanfold-data\"\n",
    );
    assert_eq!(threads(&[]), Some(("2".to_owned(), "fanfold-data/fanfold.toml:2".to_owned())));
    assert_eq!(threads(&["--data-dir", "other"]), None);
    write(&directory, "named.toml", "[http]\nthreads = 3\n");
    let named = Some(("3".to_owned(), "named.toml:2".to_owned()));
    assert_eq!(threads(&["--config", "named.toml"]), named);
    let from_environment =
        fanfold(&directory, &["config", "print"]).env("FANFOLD_CONFIG", "named.toml").output();
    let key = ("http".to_owned(), "threads".to_owned());
    assert_eq!(printed(&from_environment.unwrap()).remove(&key), named);

    let missing = print(&directory, &["--config", "missing.toml"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        text(&missing.stderr).starts_with("error: cannot read the configuration file missing.toml: No such")
    );

    let elsewhere = "[data]\ndir = \"elsewhere\"\n";
    write(&directory, &format!("fanfold-data/{FILE_NAME}"), elsewhere);
    let output = print(&directory, &[]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("line 2, column 7: data.dir: a file in the data directory cannot name another"),
        "{stderr}"
    );
    // A file elsewhere names it.
    write(&directory, "named.toml", elsewhere);
    assert!(print(&directory, &["--config", "named.toml"]).status.success());
}

#[test]
fn a_server_and_the_commands_beside_it_share_a_file() {
    let redis = Redis::start();
    let directory = tempfile::tempdir().unwrap();
    let page = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\nhosts = [\"a.example\", \"localhost\"]\n[redis]\nurl = \"{}\"\n\
         [relation]\nfollow_limit = 1\n[log]\nformat = \"json\"\n",
        redis.url()
    );
    let path = write(&directory, "shared.toml", &page);
    let data_dir = directory.path().join("data");
    let server =
        Server::run(fanfold(&directory, &["serve", "--config", &path]).env("FANFOLD_DATA_DIR", &data_dir));
    assert!(server.has_user("ada") || server.register("ada")["data"]["register"]["viewer"].is_object());
    let check =
        fanfold(&directory, &["check", "--config", &path]).env("FANFOLD_DATA_DIR", &data_dir).output();
    let check = check.unwrap();
    assert!(text(&check.stdout).contains("users:                         1"), "{}", text(&check.stderr));
    assert_eq!(server.send_with("GET /", "", "").0, 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn no_secret_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let redis_url = format!("redis://ada:{SECRET}@127.0.0.1:1/");
    let archive_url = format!("postgres://ada:{SECRET}@127.0.0.1:1/x");
    let page = format!("[redis]\nurl = \"{redis_url}\"\n[archive]\nurl = \"{archive_url}\"\n");
    write(&directory, "secret.toml", &page);
    let silent = |output: Output| {
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!printed.contains(SECRET), "{printed}");
        printed
    };
    let values = [
        silent(print(&directory, &["--config", "secret.toml"])),
        silent(print(&directory, &["--redis-url", &redis_url, "--archive-url", &archive_url])),
        silent(
            fanfold(&directory, &["config", "print"])
                .env("FANFOLD_REDIS_URL", &redis_url)
                .env("FANFOLD_ARCHIVE_URL", &archive_url)
                .output()
                .unwrap(),
        ),
    ];
    for printed in values {
        assert_eq!(printed.matches("url = \"***\" # ").count(), 2, "{printed}");
    }

    let malformed = [
        format!("[redis]\nurl = \"{redis_url}"),
        format!("[redis]\nurl = {redis_url}"),
        format!("[redis]\nurl = [\"{redis_url}\"]"),
        format!("[redis]\nuri = \"{redis_url}\""),
        format!("[redis]\n\"{redis_url}\" = 1"),
        format!("[\"{redis_url}\"]"),
        format!("\"{redis_url}\" = 1"),
        format!("[http]\nhosts = [\"{redis_url}\"]"),
        format!("[http]\nthreads = \"{redis_url}\""),
        format!("[log]\nformat = \"{redis_url}\""),
        format!("[redis]\nurl = \"reds://ada:{SECRET}@h\""),
        format!("[trace]\notlp_endpoint = \"http://{SECRET}:pass@h\""),
    ];
    for page in malformed {
        write(&directory, "bad.toml", &page);
        let output = fanfold(&directory, &["config", "check", "bad.toml"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{page}");
        silent(output);
    }

    let misplaced: [&[&str]; 7] = [
        &["serve", &redis_url],
        &[&redis_url],
        &["serve", "--http-threads", &redis_url],
        &["serve", "--http-hosts", &redis_url],
        &["serve", "--log-format", &redis_url],
        &["serve", "--log-requests", &redis_url],
        &["check", "--redis-url", &redis_url, &archive_url],
    ];
    for arguments in misplaced {
        let output = fanfold(&directory, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        silent(output);
    }
    for name in ["FANFOLD_HTTP_THREADS", "FANFOLD_LOG_REQUESTS", "FANFOLD_HTTP_CORS_ORIGINS"] {
        silent(fanfold(&directory, &["serve"]).env(name, &redis_url).output().unwrap());
        silent(fanfold(&directory, &["serve", "--help"]).env(name, &redis_url).output().unwrap());
    }
    for arguments in
        [&["serve", "--help"][..], &["man"], &["completions", "bash"], &["config", "print", "--defaults"]]
    {
        let mut command = fanfold(&directory, arguments);
        silent(
            command
                .env("FANFOLD_REDIS_URL", &redis_url)
                .env("FANFOLD_ARCHIVE_URL", &archive_url)
                .output()
                .unwrap(),
        );
    }
}

#[test]
fn the_file_on_the_page_for_operators_is_valid() {
    let page = include_str!("../../../docs/operating.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = write(&directory, "example.toml", example);
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    let output = fanfold(&directory, &["config", "check", "example.toml"]).output().unwrap();
    assert_eq!(text(&output.stdout), "example.toml is valid\n", "{}", text(&output.stderr));
}

#[test]
fn no_option_that_is_a_url_is_printed_with_its_query_or_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let command = ServerConfig::augment_args(clap::Command::new("fanfold"));
    let takes_url = |arg: &&Arg| {
        arg.get_value_names()
            .is_some_and(|names| names.iter().any(|name| ["URL", "ORIGINS"].contains(&&**name)))
    };
    let urls: Vec<&Arg> = command.get_arguments().filter(takes_url).collect();
    assert!(urls.len() >= 5, "{urls:?}");
    for arg in urls {
        let (option, variable) = (arg.get_long().unwrap(), arg.get_env().unwrap());
        let (section, name) = option.split_once('-').unwrap();
        for url in [
            format!("https://a.example/jwks.json?key={SECRET}"),
            format!("https://a.example/jwks.json#{SECRET}"),
            format!("https://ada:{SECRET}@a.example/"),
            format!("redis://a.example/0?pass={SECRET}"),
            format!("postgres://a.example/x?password={SECRET}"),
        ] {
            let path = write(
                &directory,
                "some.toml",
                &format!("[{section}]\n{} = \"{url}\"\n", name.replace('-', "_")),
            );
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let flag = format!("--{option}={url}");
            for output in [
                print(&directory, &[&flag]),
                print(&directory, &["--config", "some.toml"]),
                fanfold(&directory, &["config", "check", "some.toml"]).output().unwrap(),
                fanfold(&directory, &["config", "print"]).env(variable, &url).output().unwrap(),
                fanfold(&directory, &["serve", "--help"]).env(variable, &url).output().unwrap(),
            ] {
                let printed = text(&output.stdout) + &text(&output.stderr);
                assert!(!printed.contains(SECRET), "--{option} {url}: {printed}");
            }
        }
    }
    let keys = print(&directory, &["--jwt-jwks-url", "https://a.example/jwks.json?key=topsecret"]);
    assert!(text(&keys.stdout).contains("jwks_url = \"https://a.example/jwks.json?***\" # command line"));
}

#[test]
fn a_file_with_a_password_that_others_can_read_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(&directory, "some.toml", "[archive]\nurl = \"postgres://ada:pencil@h/x\"\n");
    let warning = |mode: u32| {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        text(&fanfold(&directory, &["config", "check", "some.toml"]).output().unwrap().stderr)
    };
    assert_eq!(
        warning(0o644),
        "warning: others can read the passwords in some.toml; set its mode to 600 or 640\n"
    );
    assert_eq!([warning(0o600), warning(0o640)], ["", ""]);
    write(&directory, "some.toml", "[archive]\nurl = \"sqlite:x.db\"\n");
    assert_eq!(warning(0o644), "");
}

#[test]
fn the_sample_file_has_every_option_and_is_valid_with_all_defaults_enabled() {
    let directory = tempfile::tempdir().unwrap();
    let sample = text(&print(&directory, &["--defaults"]).stdout);
    write(&directory, "sample.toml", &sample);
    let check = || fanfold(&directory, &["config", "check", "sample.toml"]).output().unwrap();
    assert!(check().status.success());
    for row in Row::all() {
        let section = sample.split(&format!("\n[{}]\n", row.section)).nth(1).expect("it has all sections");
        let section = section.split("\n[").next().unwrap();
        assert!(section.contains(&format!("\n#{} = ", row.name)), "{}", row.option);
    }
    // Options without a default show the kind of value instead, in capitals.
    let is_value = |line: &&str| line.starts_with('#') && !line.starts_with("# ") && line.contains(" = ");
    let has_default = |line: &&str| {
        !line
            .rsplit(" = ")
            .next()
            .unwrap()
            .trim_start_matches('"')
            .starts_with(|c: char| c.is_ascii_uppercase())
    };
    let enabled = sample.lines().map(|line| match Some(line).filter(is_value).filter(has_default) {
        Some(line) => &line[1..],
        None => line,
    });
    let enabled: Vec<&str> = enabled.collect();
    assert!(enabled.contains(&"listen = \"127.0.0.1:8080\""));
    write(&directory, "sample.toml", &enabled.join("\n"));
    let output = check();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(sample.lines().all(|line| line.chars().count() <= 110), "lines are short");
}

#[test]
fn a_printed_configuration_is_a_file_with_the_same_values() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--http-hosts", "a.example,b.example", "--visit-audience", "off", "--session-single"];
    let first = print(&directory, &options);
    write(&directory, "printed.toml", &text(&first.stdout));
    let values =
        |output: &Output| -> Vec<String> { printed(output).into_values().map(|(value, _)| value).collect() };
    let second = print(&directory, &["--config", "printed.toml"]);
    assert_eq!(values(&first), values(&second));
}

#[test]
fn completions_exist_for_each_shell_and_bash_accepts_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = fanfold(&directory, &["completions", shell]).output().unwrap();
        let script = text(&output.stdout);
        assert!(script.contains("http-listen") && script.contains("adopt"), "{shell}");
        assert!(!script.contains("sockets_single") && !script.contains("--sessions-single"), "{shell}");
        if shell == "bash" {
            let path = write(&directory, "fanfold.bash", &script);
            let complete = format!(
                "source {path}; COMP_WORDS=(fanfold serve --http-lis); COMP_CWORD=2; \
                 _fanfold fanfold --http-lis serve; echo \"${{COMPREPLY[@]}}\""
            );
            // Other systems may lack bash.
            if let Ok(completed) = Command::new("bash").args(["-c", &complete]).output() {
                assert_eq!(text(&completed.stdout).trim(), "--http-listen", "{}", text(&completed.stderr));
            }
        }
    }
    assert_eq!(fanfold(&directory, &["completions", "tcsh"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn a_manual_page_exists_for_each_command() {
    let directory = tempfile::tempdir().unwrap();
    let page = text(&fanfold(&directory, &["man"]).output().unwrap().stdout);
    assert!(page.contains(".TH fanfold 1") && page.contains(".SH SUBCOMMANDS"), "{page}");
    assert!(fanfold(&directory, &["man", "--dir", "pages"]).status().unwrap().success());
    let page = |name: &str| fs::read_to_string(directory.path().join("pages").join(name)).unwrap();
    for name in ["fanfold.1", "fanfold-serve.1", "fanfold-archive-run.1", "fanfold-config-print.1"] {
        assert!(page(name).starts_with(".ie") && page(name).contains(".SH NAME"), "{name}");
    }
    let serve = page("fanfold-serve.1");
    for row in Row::all() {
        assert!(serve.contains(&row.option.replace('-', "\\-")), "{}", row.option);
    }
    if let Some(formatted) = formatted(&directory.path().join("pages/fanfold-serve.1")) {
        assert!(
            formatted.contains("--http-listen") && formatted.contains("FANFOLD_HTTP_LISTEN"),
            "{formatted}"
        );
    }
}

/// Returns a manual page as `man` shows it; `None` on a system without `man`.
fn formatted(page: &Path) -> Option<String> {
    let output = Command::new("man").arg("-l").arg(page).env("MANWIDTH", "200").output().ok()?;
    output.status.success().then(|| text(&output.stdout))
}
