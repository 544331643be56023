"""Validates the alerts and the dashboard, and prints the metrics that they use.

Each line of the output is a metric with the labels that are used with it, such as `fanfold_requests_total code`.
"""

import json
import re
import sys
from pathlib import Path

import promql_parser
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
# Labels that Prometheus adds, or that histograms have.
OTHER_LABELS = {"__name__", "instance", "job", "le"}

used: dict[str, set[str]] = {}
faults: list[str] = []


def expect(condition: object, fault: str) -> None:
    if not condition:
        faults.append(fault)


def selectors(expression) -> list:
    """Returns the vector selectors of an expression."""
    found = []

    def visit(node) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(expression, visit)
    return found


def check(expression: str, place: str) -> None:
    """Parses an expression, and notes the metrics and labels that it uses."""
    # Grafana replaces its variables.
    text = expression.replace("$__rate_interval", "5m").replace("$instance", ".+").replace("$job", "fanfold")
    try:
        parsed = promql_parser.parse(text)
    except Exception as error:
        faults.append(f"{place}: {error}: {expression}")
        return
    grouped = {label.strip() for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", text) for label in group.split(",")}
    found = selectors(parsed)
    expect(found, f"{place}: no metric: {expression}")
    for selector in found:
        matched = {matcher.name for matcher in selector.matchers.matchers}
        used.setdefault(selector.name, set()).update((matched | grouped) - OTHER_LABELS)


def check_alerts() -> None:
    names = []
    for group in yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]:
        expect(set(group) == {"name", "rules"}, f"group {group}")
        for rule in group["rules"]:
            name = rule["alert"]
            names.append(name)
            expect(set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, f"{name}: {set(rule)}")
            expect(re.fullmatch(r"\d+[smh]", rule.get("for", "0s")), f"{name}: for")
            expect(rule["labels"].get("severity") in ("critical", "warning"), f"{name}: severity")
            annotations = rule["annotations"]
            expect(set(annotations) == {"summary", "runbook"}, f"{name}: annotations")
            expect(annotations["runbook"].endswith("."), f"{name}: the runbook is no sentence")
            check(rule["expr"], name)
            # A label that an aggregation drops is empty in the summary.
            for label in re.findall(r"\$labels\.(\w+)", annotations["summary"]):
                aggregated = re.search(r"\b(?:sum|max|min|avg|count)\b", rule["expr"])
                kept = re.search(rf"\bby \([^)]*\b{label}\b", rule["expr"])
                expect(kept or not aggregated, f"{name}: the label {label} is dropped")
    expect(len(names) == len(set(names)), "an alert is there twice")


def check_scrapes() -> None:
    configuration = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    for name in configuration["rule_files"]:
        expect((DEPLOY / "prometheus" / name).exists(), f"no {name}")
    jobs = {scrape["job_name"] for scrape in configuration["scrape_configs"]}
    expect(jobs == {"fanfold"}, f"jobs: {jobs}")


def check_dashboard() -> None:
    dashboard = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
    expect(dashboard["uid"] and dashboard["title"] and dashboard["schemaVersion"] >= 39, "the head of the dashboard")
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    ids, taken = set(), set()
    for panel in dashboard["panels"]:
        title = panel["title"]
        expect(panel["id"] not in ids, f"{title}: the id is there twice")
        ids.add(panel["id"])
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        expect(place["x"] + place["w"] <= 24 and not cells & taken, f"{title}: overlaps")
        taken |= cells
        if panel["type"] == "row":
            continue
        expect(panel.get("description"), f"{title}: no description")
        expect(panel["fieldConfig"]["defaults"].get("unit"), f"{title}: no unit")
        expect(panel["targets"], f"{title}: no query")
        for target in panel["targets"]:
            named = set(re.findall(r"\$(?!__)(\w+)", target["expr"]))
            expect(named <= variables, f"{title}: variables {named - variables}")
            check(target["expr"], title)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+)(\{.*\})?, \w+\)", variable["query"]["query"])
            expect(found, f"variable {variable['name']}")
            used.setdefault(found[1], set())


check_alerts()
check_scrapes()
check_dashboard()
for fault in faults:
    print(fault, file=sys.stderr)
for name in sorted(used):
    print(name, *sorted(used[name]))
sys.exit(1 if faults else 0)
