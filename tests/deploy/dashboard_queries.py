"""Asks a Prometheus that watches a daemon for all that the dashboard shows. Not a test of CTest: .ci/image runs it.
Usage: dashboard_queries.py URL DOCKER-FOLDER."""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_S = 600


def answers(url, query):
    """Returns values of the series that a query gives; none while Prometheus starts."""
    try:
        with urllib.request.urlopen(
            f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}", timeout=10
        ) as reply:
            result = json.load(reply)["data"]["result"]
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return []
        raise SystemExit(f"{query}: {error.read().decode()}") from error
    except OSError:  # not of urllib where the connection ends before the answer
        return []
    return [float(series["value"][1]) for series in result]


def of_all(query, chosen):
    """Returns the query as Grafana asks it for all daemons and models."""
    for name, value in chosen.items():
        query = query.replace(name, value)
    return query


def main():
    url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    dashboard = json.loads((folder / "grafana/dashboards/znni.json").read_text())
    chosen = {f"${one['name']}": one["allValue"] for one in dashboard["templating"]["list"]}
    left = {of_all(target["expr"], chosen) for panel in dashboard["panels"] for target in panel["targets"]}
    count, end = len(left), time.monotonic() + PATIENCE_S
    while left and time.monotonic() < end:
        # Not a number is nothing that a panel could draw.
        left = {query for query in left if not any(value == value for value in answers(url, query))}
        time.sleep(0.5 if left else 0)
    if left:
        raise SystemExit("nothing to show for:\n" + "\n".join(sorted(left)))
    print(f"Prometheus answers all {count} queries of the dashboard")


if __name__ == "__main__":
    main()
