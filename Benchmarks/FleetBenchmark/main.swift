// SPDX-License-Identifier: Apache-2.0
// Drives a fleet of vehicle agents in virtual time through every scenario, prints what was measured, and writes it,
// second by second, for the picture. Exit status 1 when a limit is exceeded.
//   BENCH=1 swift run -c release FleetBenchmark FILE.json [SCENARIO...]    with VEHICLES, SEED, THREADS and FIX_PERIOD
import FleetModel
import Glibc

let environment: (String) -> Int? = { name in unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) } }
let model = FleetModel(
  vehicles: environment("VEHICLES") ?? 10_000, seed: UInt64(clamping: environment("SEED") ?? 1),
  threads: environment("THREADS") ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)), fixPeriod: environment("FIX_PERIOD") ?? 1)
let wanted = CommandLine.arguments.dropFirst(2)
let unknown = wanted.filter { name in !FleetScenario.all.contains { $0.name == name } }
guard let output = CommandLine.arguments.dropFirst().first, unknown.isEmpty else {
  print("FleetBenchmark FILE.json [\(FleetScenario.all.map(\.name).joined(separator: "|"))]...")
  exit(64)
}

func pad(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(width - text.count, 0)) + text }
func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

func json(_ run: FleetRun) -> String {
  func row(_ name: String, _ value: (FleetSecond) -> Int) -> String {
    "\"\(name)\":[\(run.seconds.map { "\(value($0))" }.joined(separator: ","))]"
  }
  let scenario = run.scenario
  let rows = [
    row("updates", \.updates), row("accepted", \.accepted), row("bytes", \.bytes), row("tokens", \.tokenRequests),
    row("connections", \.connections), row("pending", \.pending), row("behind", \.behind), row("p50", { $0.ages[0] }),
    row("p95", { $0.ages[1] }),
    row("p99", { $0.ages[2] }), row("oldest", { $0.ages[3] }),
  ]
  let from = scenario.period.lowerBound
  return """
    {"name":"\(scenario.name)","title":"\(scenario.title)","from":\(from),"until":\(scenario.period.upperBound),\
    "causeEnd":\(scenario.causeEnd),\(rows.joined(separator: ","))}
    """
}

print("\(model.vehicles) vehicles, seed \(model.seed), \(model.threads) threads, a fix each \(model.fixPeriod) s")
print(
  "scenario     updates/s  10 s peak  /normal  1 s peak  tokens/s/1000  connections/s/1000  p99 age  oldest  "
    + "backlog in  lost  seconds")
var normal: Double?
var isKept = true
var runs: [String] = []
for scenario in FleetScenario.all where wanted.isEmpty || scenario.name == "normal" || wanted.contains(scenario.name) {
  let clock = ContinuousClock()
  let begin = clock.now
  let run = await model.run(scenario)
  let seconds = Double((clock.now - begin).components.seconds)
  let mean = normal ?? run.mean
  normal = mean
  let total = run.seconds.reduce(0) { $0 + $1.updates }
  let cells = [
    (tenths(Double(total) / Double(run.seconds.count)), 9), (tenths(run.peakUpdates), 11),
    (tenths(run.peakUpdates / mean), 9), ("\(run.busiestSecond)", 10), (tenths(run.peakTokens), 15),
    (tenths(run.peakConnections), 20),
    ("\(run.settledAge) s", 9), ("\(run.seconds.map { $0.ages[3] }.max() ?? 0) s", 8),
    (run.backlogSeconds.map { "\($0) s" } ?? "never", 12), ("\(run.lost)", 6), (tenths(seconds), 9),
  ]
  print(scenario.name.padded(12) + cells.map { pad($0.0, $0.1) }.joined())
  for violation in run.violations(normal: mean) {
    isKept = false
    print("  ! \(violation)")
  }
  runs.append(json(run))
}
let text = """
  {"vehicles":\(model.vehicles),"seed":\(model.seed),"normal":\(normal ?? 0),"runs":[
  \(runs.joined(separator: ",\n"))
  ]}

  """
guard let file = unsafe fopen(output, "w") else {
  unsafe perror(output)
  exit(73)
}
unsafe fputs(text, file)
guard unsafe fclose(file) == 0 else {
  unsafe perror(output)
  exit(74)
}
exit(isKept ? 0 : 1)

extension String {
  func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(width - count, 0)) }
}
