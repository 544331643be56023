//! The commands of the page for operators about Kubernetes, as far as `kubectl` carries them out without a cluster.
//! `make test-containers` runs them on a cluster.

use std::collections::BTreeMap;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::harness::document::{OPERATING, texts};
use crate::harness::program::stdout_of;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SECRET: &str = include_str!("../../../deploy/kubernetes/example-secret.yaml");

/// Returns the commands of the page, in order.
fn commands() -> [String; 5] {
    let blocks = texts(OPERATING, "sh");
    let block =
        blocks.iter().find(|block| block.starts_with("kubectl ")).expect("a block is about Kubernetes");
    let lines: Vec<String> = block.lines().map(str::to_owned).collect();
    lines.try_into().expect("a test runs each command")
}

/// Runs a command where the page runs it, without a cluster, and returns what it prints.
fn kubectl(line: &str) -> String {
    let path = format!("{ROOT}/target/validators/bin:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {line}")]).current_dir(ROOT);
    stdout_of(shell.env("PATH", path).env("KUBECONFIG", "/dev/null"))
}

/// Returns the texts in an object, by their names.
fn entries(object: &Value) -> BTreeMap<&str, &str> {
    let object = object.as_object().unwrap();
    object.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect()
}

#[test]
fn the_page_creates_the_secret_of_the_sample() {
    let sample: Value = serde_saphyr::from_str(SECRET).unwrap();
    let urls = entries(&sample["stringData"]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret.env");
    let lines: Vec<String> = urls.iter().map(|(name, url)| format!("{name}={url}")).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();

    let [_, create, ..] = commands();
    let create = create.replace("secret.env", file.to_str().unwrap());
    let secret = kubectl(&format!("{create} --dry-run=client --output json"));
    let secret: Value = serde_json::from_str(&secret).unwrap();
    let data = entries(&secret["data"]).into_iter();
    let data = data.map(|(name, value)| (name, String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()));
    assert_eq!(
        data.collect::<BTreeMap<_, _>>(),
        urls.into_iter().map(|(n, url)| (n, url.to_owned())).collect()
    );
    assert_eq!(entries(&secret["metadata"]), entries(&sample["metadata"]));
}

#[test]
fn the_page_applies_objects_that_belong_together() {
    let [namespace, create, apply, status, execute] = commands();
    let rendered = kubectl(&apply.replace("kubectl apply --kustomize", "kubectl kustomize"));
    let objects: Vec<Value> =
        rendered.split("\n---\n").map(|object| serde_saphyr::from_str(object).unwrap()).collect();
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();

    // The namespace exists before the secret, and the other objects are in it.
    assert!(namespace.ends_with("deploy/kubernetes/namespace.yaml"));
    let name = find("Namespace")["metadata"]["name"].as_str().unwrap();
    for line in [&create, &status, &execute] {
        assert!(line.contains(&format!(" --namespace {name} ")), "{line}");
    }
    for object in objects.iter().filter(|object| object["kind"] != "Namespace") {
        assert_eq!(object["metadata"]["namespace"], name, "{object}");
    }

    let deployment = find("Deployment");
    let reference = format!(" deployment/{}", deployment["metadata"]["name"].as_str().unwrap());
    assert!(
        status.ends_with(&reference) && execute.contains(&format!("{reference} -- ")),
        "{status} {execute}"
    );
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(container["image"], format!("registry.example.org/fanfold:{version}"));
    let sources: Vec<&Value> = container["envFrom"].as_array().unwrap().iter().collect();
    assert_eq!(sources[0]["configMapRef"]["name"], find("ConfigMap")["metadata"]["name"]);
    let secret = sources[1]["secretRef"]["name"].as_str().unwrap();
    assert!(create.contains(&format!(" secret generic {secret} ")), "{create}");
}
