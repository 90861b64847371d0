// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import Timekeeping

/// Of every kind of event what does not depend on its particulars. The journal, `docs/journal.md` and journald's catalogue
/// are made from this one table.
extension Event.Kind {
  /// 128 bits in hexadecimal that never change: `journalctl MESSAGE_ID=…` finds the event in every release.
  package var messageID: String { row.id }
  /// How serious it is, for the journal's PRIORITY= and for `log.level`.
  package var priority: Priority { row.priority }
  /// When it is written, and what to do about it.
  package var explanation: String { row.explanation }

  private var row: (id: String, priority: Priority, explanation: String) {
    switch self {
    case .started:
      ("b9311e720c6141fe92162d14248f1c64", .notice, "The daemon has read its settings and begins.")
    case .crashed:
      (
        "884f51fcbb224e0199b92b9e1c1df07f", .error,
        "The run before this one ended in a crash, or the watchdog ended it because its loop stood still: a mistake in the program, or a disk that does not answer. Nothing that was on the backlog's file is lost. Report the sentence and the field FLEET_BACKTRACE; docs/crashes.md says how the addresses become names."
      )
    case .stopping:
      (
        "12a667f05a0145caa7c9afd983c35cbe", .notice,
        "It was asked to stop, or its recording ended; what is due is sent first."
      )
    case .stopped:
      ("260e15a37ff7406196fda0584ced0101", .notice, "It has stopped. Says what was not delivered.")
    case .reloaded:
      ("ce5b115049ac4a5989906a5f97bd04b6", .notice, "New settings are in force.")
    case .reloadRefused:
      (
        "2bf0a74e5a4f4dc78ab9147b22d53536", .error,
        "The new settings have a mistake; the old ones stay in force. Mend the line that is named and reload again."
      )
    case .settingsKept:
      (
        "53d17eaa5f7a417d9fec6656053bd445", .error,
        "The settings have a mistake, and the daemon has started with the last settings that led to an accepted update, which it keeps for this. The vehicle goes on reporting. Correct the line that is named, then systemctl reload fleet-locationd."
      )
    case .settingsAwaited:
      (
        "def64e5a544b412594d61273ab1da436", .error,
        "A file or credential that the settings name is not there. The daemon looks again every 5 s to 60 s, and starts anew after a quarter of an hour, for systemd hands out credentials at a start only."
      )
    case .settingsWarning:
      (
        "2c9d1a8b0be2490f97a31ee41ac03c5e", .warning,
        "The settings are in force, and something in them is worth a look."
      )
    case .sourceOpened:
      ("3eaa8f404e264918a51187f7f15f9319", .notice, "The receiver, route or recording is being read.")
    case .sourceLost:
      (
        "5c13bc241486412880f02a7b10b7c2e7", .warning,
        "The source cannot be opened, ended, or fell silent; it is tried again until it answers. Check the cable, the device name and its permissions."
      )
    case .sourceChosen:
      (
        "0b7b099a028d47a286ec6c0d2ca3da7f", .notice,
        "Of several sources another one is used now; says which and why. A preferred one that has failed takes back after it has been good for a while."
      )
    case .noSourceGood:
      (
        "642d4e765eac4c73b30f5ea6a770ac9d", .warning,
        "None of several sources gives a position that can be believed; the first that does is used. Says what is wrong with each."
      )
    case .simulatedSource:
      (
        "884e5eebad05436682dd234a2ff381de", .warning,
        "Simulated positions go to a server that is not this machine: dispatchers see a vehicle that is not there."
      )
    case .firstFix:
      ("92426468f5334b468a81804afb8de6d6", .notice, "The first position that the filter believes.")
    case .noFix:
      (
        "fc3e7d6e69694b708bbf5801394c054f", .warning,
        "The receiver is read and has given no accepted position for 60 s since: no sky, no antenna, or a cold start, which takes minutes. Reported once for each start of the daemon; status has the duration and the satellites in view."
      )
    case .fixLost:
      (
        "15c2dcde8f7a47b998fa41ec063b99fc", .warning,
        "No believable position for 30 s: no sky, no antenna, or all refused by the filter. The last one is repeated at each heartbeat."
      )
    case .fixRegained:
      ("93f7f441b19e4bc78d78b3251eaeff66", .notice, "Positions are back.")
    case .fixRejected:
      ("d24018c184f24c1ab1c6aec76692ee29", .debug, "The filter refuses a position and says why.")
    case .online:
      ("c1e6fbdb9acc44bb83ac0cd83110cca1", .notice, "Fleet Engine accepted an update, for the first time or again.")
    case .offline:
      (
        "69a64fa943164eb2a487379a8c09c0f4", .warning,
        "An update was not accepted. The reason decides how often it is tried; positions wait in the backlog."
      )
    case .stillOffline:
      (
        "6bf9797803b74e8d8061c39d0e735e2b", .warning,
        "The same after 10, 20 and 40 minutes, then every hour; counts the tries in between."
      )
    case .interrupted:
      (
        "439303c4395449648132ab2711d16e86", .info,
        "An update was not accepted, within ten minutes of an outage that was told. If it lasts a minute it is told as one; else the next outage that is told counts it."
      )
    case .updateAccepted:
      ("2ddccd9036264de79f95b1f42948cb9c", .debug, "Fleet Engine accepted an update.")
    case .tokenObtained:
      ("9ba59c46d7c94a719f5235f1341f1113", .notice, "The token provider gave a token.")
    case .tokenFailed:
      (
        "8015697d99c14605b7c14714956970d1", .warning,
        "The token provider gave none; it is asked again. While the token before lives, updates go on."
      )
    case .tokenRefused:
      (
        "80f0fb52a4094f20a52138782a4743ed", .error,
        "Fleet Engine refuses fresh tokens: the sentence says whether it is for a clock, the service account's role, the vehicle's ID, or the token itself."
      )
    case .tokenRemark:
      (
        "1eb762b316b348d190c2a52720a083d4", .info,
        "What the token command wrote on standard error, a line at a time, without what looks like a secret."
      )
    case .tokenRestored:
      (
        "406605d8a4104e1cabf090095f85ae66", .info,
        "The token of the run before is good, and serves on: the token provider need not be asked. See token.cache."
      )
    case .tokenNotRestored:
      (
        "3291b72cda6845ca8a24e1f58f008204", .notice,
        "What the run before has kept of its token is of no use and is removed, and says why: it is of another boot, for another vehicle, has expired, is damaged, or somebody else could have read or written it. The token provider is asked."
      )
    case .tokenNotKept:
      (
        "10f9644cb53d44388482114f5d7c15f2", .warning,
        "The token cannot be kept for a restart, and says why: the next start asks the token provider. Mend the runtime directory, or write token.cache = false."
      )
    case .backfilled:
      ("c7e9d51735ff46cfb284f2ac5bb3a0ae", .notice, "The positions that waited for the network have all arrived.")
    case .backfillRefused:
      (
        "0a93b847b1ae42b494e9f157832a3fe5", .warning,
        "Fleet Engine refuses an update for its past positions; live updates go on without them."
      )
    case .positionsDropped:
      (
        "eb9bf0b5e86d48dabcc9e60aabbe1e47", .warning,
        "Positions left the backlog undelivered: it was full and was thinned, they were too old, or the server refused them."
      )
    case .backlogRestored:
      (
        "0606c4b46f050646ea04537f72b4d723", .notice,
        "Positions that an earlier run could not deliver were on disk, and go with the next updates."
      )
    case .backlogInMemory:
      (
        "063ab4264255a3d42681506090a730ce", .warning,
        "The backlog's file cannot be written, and says why; updates go on, but a power cut costs the positions that wait. It is tried again. Make room on the disk, or mend backlog.directory and its permissions."
      )
    case .backlogOnDisk:
      (
        "36da640c4a54f23ca4d369dc7e2093d2", .notice,
        "The backlog's file can be written again, and holds all that waits."
      )
    case .storeSetAside:
      (
        "2f13b4411702067a934e8f2919fd1721", .warning,
        "The backlog's file is damaged or another program's. It is kept under another name for whoever wants to look; positions that waited in it are not delivered."
      )
    case .storeReplaced:
      (
        "79c8adfa86f2f602308877b885bbcd73", .warning,
        "The backlog's file was deleted, renamed or replaced while the daemon used it. What waits is in memory, and is written to a new file at once; nothing is lost. Stop the daemon before the file is moved."
      )
    case .clockUnset:
      (
        "1f891ccd89434dc2b85fecd6941cc4ca", .warning,
        "This machine's clock shows a time before the program was built. Deadlines do not depend on it; certificates do."
      )
    case .clockStepped:
      (
        "82f8664445e7404e981100ec10bc01d1", .notice,
        "The clock of this machine was set; says by how much. No deadline moves, and no position gets another time."
      )
    case .networkLost:
      (
        "f10fab30aa0848fa8696b25540659181", .notice,
        "No network interface is up with an address and a default route. Positions wait in the backlog; one try is made every three minutes all the same, for a setup that works without a default route."
      )
    case .networkBack:
      ("bbfeff3a49544a4586e99628efd761b8", .notice, "There is a network again; an update is tried at once.")
    case .networkUnwatched:
      (
        "c0b7c182a95c4443a2c460a4888701e4", .warning,
        "The system does not tell about its network (AF_NETLINK): its return is noticed by trying, within 10 s. The unit must allow AF_NETLINK in RestrictAddressFamilies."
      )
    case .resumed:
      (
        "cde95dc5f44948e5a960ba1375cf73b4", .notice,
        "The machine was suspended and is awake again. Old connections are dropped and an update is tried at once."
      )
    case .trafficOfDay:
      (
        "5a9512b81999467891b4d03ae1a59a55", .notice,
        "What the daemon's connections carried on a day (UTC) that is over: bytes on the air to and from Fleet Engine and the token provider, and those of its month so far, with the headers of IP and TCP and with handshakes, without name look-ups. Written with the first activity after midnight. A power cut costs the bytes of up to a quarter of an hour."
      )
    case .paused:
      (
        "b493003d44914333831c7db86d645c41", .notice,
        "The driver is off duty: no position leaves the machine and none is kept until fleet-locationctl resume, also across a restart. What waited before goes on afterwards."
      )
    case .pauseEnded:
      ("7044313741b94d9dacd8a7688a66bb36", .notice, "The driver is on duty again: the next fix is sent at once.")
    case .pauseNotKept:
      (
        "920a74709c6a4d21a69acc3ea32b45e0", .warning,
        "The pause, or its end, is in force but could not be put on disk: a restart would not know of it. The unit must have a StateDirectory, with room on the disk; then pause or resume once more."
      )
    case .stateOffline:
      (
        "21b7c8f3577b4e088fcf4f2302b3aaae", .notice,
        "A vehicle of on-demand trips is OFFLINE: Fleet Engine offers it no new trips until the first position after the pause sets it to ONLINE."
      )
    case .stateOfflineFailed:
      (
        "7513337d49e04268a703a6200eae8dd6", .warning,
        "The driver is off duty, and Fleet Engine has not accepted that the vehicle is OFFLINE: it may be offered trips until five minutes after its last position. No position leaves the machine all the same. OFFLINE is sent until it is accepted, also after a restart."
      )
    case .stateOfflineMissing:
      (
        "45de781c0c714633b57ec239c232bd1e", .warning,
        "The run has ended, or the settings name another vehicle, before Fleet Engine has accepted OFFLINE. After a pause it is sent at the next start; otherwise the backend may set the vehicle's state."
      )
    case .clockWrong:
      (
        "8b34eb1db6a14c1d8f6fdd9422c5bb3f", .warning,
        "This machine's clock differs from what Fleet Engine, the token provider or the receiver tell, by half a minute or more. Tokens and waits do not depend on it; certificates and the journal's own times do."
      )
    case .clockRight:
      ("893d861bdd79417699240581656eb7e8", .notice, "This machine's clock is right again.")
    case .receiverClock:
      (
        "9104c93bd50f4f878ff4e24460e89ebf", .warning,
        "The receiver's clock is wrong by this, compared with Fleet Engine's or the token provider's, and its positions are sent with the corrected time; or it is right again. One that is 18 s ahead has not received the leap seconds yet, which takes up to 13 minutes after a cold start. If it lasts, restart the receiver or update its firmware."
      )
    }
  }
}
