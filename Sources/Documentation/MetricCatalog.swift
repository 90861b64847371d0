// SPDX-License-Identifier: Apache-2.0
import Observability

/// The table of metrics as a document: `docs/metrics.md` is this text.
package enum MetricCatalog {
  /// The whole page.
  package static var markdown: String {
    var text = """
      # Metrics

      For operators of a monitoring system: every metric, and how Prometheus collects it. `fleet-locationctl metrics` prints the
      metrics; `metrics.textfile` names a file for the textfile collector of Prometheus' node exporter. Counters begin at 0
      with each start of the daemon. No metric contains a coordinate or a token. Each has the labels `provider` and
      `vehicle` in addition to its own. While the daemon waits for a file or credential that the settings name, there are only `build_info`,
      `config_last_reload_success`, `online` and `paused`, and a label whose value is not known is left out.

      | Metric | Type | Label | Meaning |
      |---|---|---|---|

      """
    for metric in MetricTable.all {
      let label = metric.label.map { "`\($0)`" } ?? ""
      text += "| `\(metric.name)` | \(metric.kind.rawValue) | \(label) | \(metric.help) |\n"
    }
    text += """

      `category` is explained in [architecture.md](architecture.md#what-the-categories-mean), the `reason` of a rejected fix in
      [filter.md](filter.md), of a removal from the backlog in [guarantees.md](guarantees.md), and of a failure to get a token in
      [token-provider.md](token-provider.md#why-there-is-no-token). `peer` is `fleet_engine` or `token_provider`.

      ## With the node exporter

      The service may write only to its own directories. A relative path is in its directory in `/run`, and the collector follows
      a link to it:

      ```
      # /etc/fleet-locationd/conf.d/metrics.toml
      [metrics]
      textfile = "fleet_locationd.prom"
      ```

      ```
      sudo systemctl restart fleet-locationd
      sudo ln -s /run/fleet-locationd/fleet_locationd.prom /var/lib/prometheus/node-exporter/
      ```

      The daemons of several vehicles (`fleet-locationd@NAME`) share this setting, and each writes its own file,
      `/run/fleet-locationd-NAME/fleet_locationd.prom`: link each under a name of its own. Their labels distinguish the vehicles.

      The file is replaced as a whole, once a minute and when the vehicle goes online or offline, while the daemon is awake anyway: no metric
      wakes an idle machine. `fix_age_seconds` is an age at the time when the file was written: add `time() - node_textfile_mtime_seconds`.
      `backlog_oldest_age_seconds` counts up to the newest fix, and needs no correction. Metrics that end in `_timestamp_seconds` need no
      correction. When the daemon stops it writes the file once more, with `online` 0; if the file is in `/run/fleet-locationd`, systemd then
      removes it with the directory, and the collector reports `node_textfile_scrape_error 1` for the link until the service runs again. A reload
      that changes or removes `textfile` deletes the previous file; after a restart instead of a reload, delete it yourself.

      Boxes that no one can scrape, because they are behind NAT, push a part of these: [fleet.md](fleet.md#metrics), which also has alerts and
      dashboards for a whole fleet.

      `packaging/prometheus/fleet-locationd.rules.yml` has alerts for a silent vehicle, a failing token provider, a
      growing backlog, rejected fixes, and settings with a mistake; the package installs it as
      `/usr/share/doc/fleet-locationd/examples/fleet-locationd.rules.yml`.

      """
    return text
  }
}
