// SPDX-License-Identifier: Apache-2.0
import Observability

/// The table of metrics as a document: `docs/metrics.md` is this text.
package enum MetricCatalog {
  /// The whole page.
  package static var markdown: String {
    var text = """
      # Metrics

      What `fleet-locationctl metrics` prints, and what is written to the file of `metrics.textfile` for the textfile
      collector of Prometheus' node exporter. Counters begin at 0 with each start of the daemon. No metric holds a
      coordinate or a token. Each has the labels `provider` and `vehicle` beside its own.

      | Metric | Type | Label | Meaning |
      |---|---|---|---|

      """
    for metric in MetricTable.all {
      let label = metric.label.map { "`\($0)`" } ?? ""
      text += "| `\(metric.name)` | \(metric.kind.rawValue) | \(label) | \(metric.help) |\n"
    }
    text += """

      `category` is one of the table in [architecture.md](architecture.md#what-the-categories-mean), `reason` of a rejected
      fix one of [filter.md](filter.md), of a backlog's removal one of [guarantees.md](guarantees.md). `peer` is
      `fleet_engine` or `token_provider`.

      ## With the node exporter

      The service may write only to its own directories, and a relative path begins at the one in `/run`; the collector follows
      a link:

      ```
      # /etc/fleet-locationd/conf.d/metrics.toml
      [metrics]
      textfile = "fleet_locationd.prom"
      ```

      ```
      systemctl restart fleet-locationd
      ln -s /run/fleet-locationd/fleet_locationd.prom /var/lib/prometheus/node-exporter/
      ```

      The daemons of several vehicles (`fleet-locationd@NAME`) share that setting and write a file each, as
      `/run/fleet-locationd-NAME/fleet_locationd.prom`: link each under a name of its own. Their labels tell the vehicles apart.

      The file is replaced as a whole, at most once a minute, when the daemon is awake anyway: no metric wakes an idle
      machine. `fix_age_seconds` and `backlog_oldest_age_seconds` are as old as the file (`node_textfile_mtime_seconds`);
      what is told as a `_timestamp_seconds` is not. When the daemon stops it writes the file once more, with `online` 0; if
      the file is in `/run/fleet-locationd`, systemd then takes it away with the directory, and the collector says
      `node_textfile_scrape_error 1` for the link until the service is back.

      `packaging/prometheus/fleet-locationd.rules.yml` has alerts for a silent vehicle, a token provider that gives none, a
      backlog that grows, fixes that are not believed, and settings with a mistake; the package installs it as
      `/usr/share/doc/fleet-locationd/examples/fleet-locationd.rules.yml`.

      """
    return text
  }
}
