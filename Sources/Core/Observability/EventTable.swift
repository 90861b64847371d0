// SPDX-License-Identifier: Apache-2.0
package import Vehicle
import ExternalInput
package import Timekeeping

/// What all events of one kind have in common. The journal, `docs/journal.md` and journald's catalogue are made from
/// this one table.
extension Event.Kind {
  /// 128 bits in hexadecimal that never change: `journalctl MESSAGE_ID=…` finds the event in every release.
  package var messageID: String { row.id }
  /// The severity, for the journal's PRIORITY= and for `log.level`.
  package var priority: Priority { row.priority }
  /// When the event is written, and what to do about it.
  package var explanation: String { row.explanation }

  private var row: (id: String, priority: Priority, explanation: String) {
    switch self {
    case .started:
      ("b9311e720c6141fe92162d14248f1c64", .notice, "The daemon has read its settings and starts.")
    case .crashed:
      (
        "884f51fcbb224e0199b92b9e1c1df07f", .error,
        "The previous run crashed, or the watchdog ended it because its event loop hung: a defect of the daemon, or a disk that does not respond. Positions in the backlog's file are not lost. Report the sentence and the field FLEET_BACKTRACE; \(ManualPage.crashes) says how addresses are turned into names."
      )
    case .stopping:
      (
        "12a667f05a0145caa7c9afd983c35cbe", .notice,
        "The daemon stops, on a signal or because its recording has ended. It first sends pending positions, within stop_timeout or drain_timeout."
      )
    case .stopped:
      (
        "260e15a37ff7406196fda0584ced0101", .notice,
        "The daemon has stopped. The sentence says how many positions were not delivered, and whether they are stored, so that the next run delivers them."
      )
    case .reloaded:
      ("ce5b115049ac4a5989906a5f97bd04b6", .notice, "New settings are in force.")
    case .reloadRefused:
      (
        "2bf0a74e5a4f4dc78ab9147b22d53536", .error,
        "The new settings have a mistake; the previous ones stay in force. Correct the line that is named and reload again."
      )
    case .settingsKept:
      (
        "53d17eaa5f7a417d9fec6656053bd445", .error,
        "The settings have a mistake, so the daemon has started with the last settings that led to an accepted update; it keeps a copy of them. The vehicle still reports. Correct the line that is named, then run systemctl reload fleet-locationd."
      )
    case .confirmationAwaited:
      (
        "c3e2da66db544d86ac9c74124fd220b7", .notice,
        "New settings are in force until they are confirmed by an accepted update; if the time passes without one, the previous settings are used again, as \(ManualPage.troubleshooting) describes."
      )
    case .settingsConfirmed:
      (
        "29aeb40f785e422db9b47eb71ed06be3", .notice,
        "An update with the new settings was accepted: they stay in force."
      )
    case .settingsTakenBack:
      (
        "48e5c9b8e6634b7389239b1b01a3f825", .error,
        "No update was accepted with the new settings in the time that was set for them, so the previous ones are in force again. The files still have the new ones: correct them, then run fleet-locationctl reload --confirm 10min. Without a change they are not tried again."
      )
    case .settingsUnconfirmed:
      (
        "c2c06a15c4f14825aa22913a8e9e3fc5", .error,
        "No update was accepted with the new settings in the time that was set for them, and the previous ones are not used for the reason in the sentence. The vehicle does not report: correct the settings."
      )
    case .settingsAwaited:
      (
        "def64e5a544b412594d61273ab1da436", .error,
        "A file or credential that the settings name does not exist or is empty. The daemon checks again every 5 s to 60 s, and exits after 15 min so that systemd restarts it, because systemd provides credentials only at a start."
      )
    case .settingsWarning:
      (
        "2c9d1a8b0be2490f97a31ee41ac03c5e", .warning,
        "The settings are in force, but one of them is probably not what you want; the sentence names it."
      )
    case .sourceOpened:
      ("3eaa8f404e264918a51187f7f15f9319", .notice, "The receiver, route or recording is being read.")
    case .sourceLost:
      (
        "5c13bc241486412880f02a7b10b7c2e7", .warning,
        "The source cannot be opened, has ended, or is silent. The daemon opens it again until it works. Check the cable, the device name and its permissions."
      )
    case .sourceChosen:
      (
        "0b7b099a028d47a286ec6c0d2ca3da7f", .notice,
        "The daemon has switched to another of several sources; the sentence says which and why. A source with higher priority is used again after it has been good for a while."
      )
    case .noSourceGood:
      (
        "642d4e765eac4c73b30f5ea6a770ac9d", .warning,
        "None of several sources has a position that the filter accepts; the first source that gets one is used. The sentence says what is wrong with each."
      )
    case .simulatedSource:
      (
        "884e5eebad05436682dd234a2ff381de", .warning,
        "Simulated positions are sent to a server other than this machine: dispatchers see a vehicle that does not exist."
      )
    case .firstFix:
      ("92426468f5334b468a81804afb8de6d6", .notice, "The filter has accepted the first position.")
    case .noFix:
      (
        "fc3e7d6e69694b708bbf5801394c054f", .warning,
        "The receiver has been open for 60 s without a position that the filter accepts: no view of the sky, no antenna, or a cold start, which takes minutes. Reported once for each start of the daemon; fleet-locationctl status shows the duration and the satellites in view."
      )
    case .fixLost:
      (
        "15c2dcde8f7a47b998fa41ec063b99fc", .warning,
        "No accepted position for 30 s: no view of the sky, no antenna, or the filter has rejected all positions. The last accepted position is sent again at each heartbeat."
      )
    case .fixRegained:
      ("93f7f441b19e4bc78d78b3251eaeff66", .notice, "The filter accepts positions again.")
    case .fixRejected:
      ("d24018c184f24c1ab1c6aec76692ee29", .debug, "The filter has rejected a position; the sentence says why.")
    case .online:
      ("c1e6fbdb9acc44bb83ac0cd83110cca1", .notice, "Fleet Engine accepted an update, for the first time or again.")
    case .offline:
      (
        "69a64fa943164eb2a487379a8c09c0f4", .warning,
        "An update was not accepted. The reason determines how often it is retried; positions are queued in the backlog."
      )
    case .stillOffline:
      (
        "6bf9797803b74e8d8061c39d0e735e2b", .warning,
        "Updates are still not accepted: reported after 10, 20 and 40 minutes, then every hour, with the number of attempts in between."
      )
    case .interrupted:
      (
        "439303c4395449648132ab2711d16e86", .info,
        "An update was not accepted, within ten minutes of a reported outage. If the interruption lasts a minute, it is reported as a separate outage (offline); otherwise it is counted in the next report of an outage."
      )
    case .updateAccepted:
      ("2ddccd9036264de79f95b1f42948cb9c", .debug, "Fleet Engine accepted an update.")
    case .compactUpdatesRefused:
      (
        "3672e377802449bba68333cd2df781f3", .notice,
        "The server, or a gateway in front of it, refused compressed updates without default fields twice and accepted the same updates without compression. From now on, also after a restart, updates to this server are sent in the plain form, which needs nearly half as much data again. Nothing is lost. The next release of the package tries again."
      )
    case .tokenObtained:
      ("9ba59c46d7c94a719f5235f1341f1113", .notice, "The token provider has returned a token.")
    case .tokenFailed:
      (
        "8015697d99c14605b7c14714956970d1", .warning,
        "The token provider has returned no token; the request is repeated. Updates continue as long as the current token is valid."
      )
    case .tokenRefused:
      (
        "80f0fb52a4094f20a52138782a4743ed", .error,
        "Fleet Engine rejects fresh tokens. The sentence says whether the cause is a clock, the service account's role, the vehicle's ID, or the token itself."
      )
    case .tokenRemark:
      (
        "1eb762b316b348d190c2a52720a083d4", .info,
        "A line that the token command wrote to standard error, without anything that looks like a secret."
      )
    case .tokenRestored:
      (
        "406605d8a4104e1cabf090095f85ae66", .info,
        "The cached token of the previous run is still valid and is used, so no token is requested. See token.cache."
      )
    case .tokenNotRestored:
      (
        "3291b72cda6845ca8a24e1f58f008204", .notice,
        "The cached token was discarded, and a new one is requested. The sentence says why: other boot, other vehicle or token provider, expired, damaged, or file permissions with which other users could read or write it."
      )
    case .tokenNotKept:
      (
        "10f9644cb53d44388482114f5d7c15f2", .warning,
        "The token cannot be cached, so the next start requests a new one. The sentence says why. Correct the runtime directory, or set token.cache = false."
      )
    case .backfilled:
      ("c7e9d51735ff46cfb284f2ac5bb3a0ae", .notice, "All queued positions have been delivered.")
    case .backfillRefused:
      (
        "0a93b847b1ae42b494e9f157832a3fe5", .warning,
        "Fleet Engine has rejected an update with past positions, and accepted it without them: they, or one of them, are the cause. They are tried again later, and are not discarded."
      )
    case .positionsDropped:
      (
        "eb9bf0b5e86d48dabcc9e60aabbe1e47", .warning,
        "Positions were removed from the backlog undelivered: it was full and was thinned, they were too old or had a wrong time, Fleet Engine rejected them, or their rows in the file were damaged."
      )
    case .backlogRestored:
      (
        "0606c4b46f050646ea04537f72b4d723", .notice,
        "Positions that an earlier run could not deliver were found on disk; they are sent with the next updates."
      )
    case .backlogInMemory:
      (
        "063ab4264255a3d42681506090a730ce", .warning,
        "The backlog's file cannot be written; the sentence says why. Updates continue, but a power cut would lose the queued positions. Writing is retried. Free space on the disk, or correct backlog.directory and its permissions."
      )
    case .backlogOnDisk:
      (
        "36da640c4a54f23ca4d369dc7e2093d2", .notice,
        "The backlog's file can be written again, and contains all queued positions."
      )
    case .storeSetAside:
      (
        "2f13b4411702067a934e8f2919fd1721", .warning,
        "The backlog's file is damaged or belongs to another program. It was renamed, so that it can be examined; queued positions in it are not delivered."
      )
    case .storeReplaced:
      (
        "79c8adfa86f2f602308877b885bbcd73", .warning,
        "The backlog's file was deleted, renamed or replaced while the daemon used it. The queued positions are still in memory, and are written to a new file at once; nothing is lost. Stop the daemon before you move the file."
      )
    case .clockUnset:
      (
        "1f891ccd89434dc2b85fecd6941cc4ca", .warning,
        "This machine's clock shows a time before the program was built. Timeouts and intervals do not depend on it; the checking of certificates does. Set the clock (NTP, a battery-backed RTC)."
      )
    case .clockStepped:
      (
        "82f8664445e7404e981100ec10bc01d1", .notice,
        "The clock of this machine was set; the sentence says by how much. Timeouts, intervals and the times of positions do not change."
      )
    case .networkLost:
      (
        "f10fab30aa0848fa8696b25540659181", .notice,
        "No network interface is up with an address and a default route. Positions are queued in the backlog; one attempt is still made every three minutes, for networks that work without a default route."
      )
    case .networkBack:
      ("bbfeff3a49544a4586e99628efd761b8", .notice, "A network is available again; an update is attempted at once.")
    case .networkUnwatched:
      (
        "c0b7c182a95c4443a2c460a4888701e4", .warning,
        "The kernel does not report network changes (AF_NETLINK), so the return of the network is noticed only by an attempt, within 10 s. The unit must allow AF_NETLINK in RestrictAddressFamilies."
      )
    case .resumed:
      (
        "cde95dc5f44948e5a960ba1375cf73b4", .notice,
        "The machine has resumed from suspend. Old connections are closed, and an update is attempted at once."
      )
    case .trafficOfDay:
      (
        "5a9512b81999467891b4d03ae1a59a55", .notice,
        "Data volume of a completed day (UTC) and of its month so far: bytes to and from Fleet Engine and the token provider, with IP and TCP headers and handshakes, without name lookups. Written with the first activity after midnight. A power cut loses the count of up to 15 minutes."
      )
    case .vehicleInUse:
      (
        "0770adcd61384d1595181a60e7fe39d9", .error,
        "Another process on this machine reports the vehicle that the settings name, so this one sends nothing, fetches no token and leaves its receiver closed; it takes over within seconds when the other one ends. Usually a settings file was copied without a new vehicle_id: correct it and reload, or stop one of the two."
      )
    case .vehicleFree:
      (
        "72b2ac7a33d04ab5b492877e92ac721e", .notice,
        "The other process with this vehicle has ended, or the settings name another vehicle: this one reports it from now on."
      )
    case .vehicleNotLocked:
      (
        "d6a2bcc3d51d48fab8466579a68f9a4c", .warning,
        "The vehicle cannot be locked, so another daemon on this machine with the same vehicle would not be noticed. Positions are sent. The sentence says why; systemd-tmpfiles --create makes the directory as the package does."
      )
    case .paused:
      (
        "b493003d44914333831c7db86d645c41", .notice,
        "No position is sent or stored until fleet-locationctl resume, even across a restart. Positions queued before the pause are sent after it."
      )
    case .pauseEnded:
      ("7044313741b94d9dacd8a7688a66bb36", .notice, "Positions are sent again: the next fix at once.")
    case .pauseNotKept:
      (
        "920a74709c6a4d21a69acc3ea32b45e0", .warning,
        "The pause, or its end, is in force but could not be written to disk, so a restart would undo it; or a stored pause could not be read, which counts as a pause. The sentence says which. The unit must have a StateDirectory that it can use, with space on the disk; then pause or resume once more."
      )
    case .offDuty:
      (
        "5da3ca7f40054b449f453205dc51f633", .notice,
        "The driver takes no new trips: OFFLINE is sent at once, and each position carries it, until fleet-locationctl online, even across a restart."
      )
    case .onDuty:
      (
        "feb25017a15e4021861c3fff1c1363d1", .notice,
        "The driver takes trips again: the next position sets the vehicle to ONLINE."
      )
    case .dutyNotKept:
      (
        "4bf9b165f0124020a0b14d39ec5f7905", .warning,
        "The driver's duty is in force but could not be written to disk, so a restart would undo it; or the stored one could not be read, so the vehicle is OFFLINE. The sentence says which. The unit must have a StateDirectory that it can use, with space on the disk; then run fleet-locationctl online or offline once more."
      )
    case .stateOffline:
      (
        "21b7c8f3577b4e088fcf4f2302b3aaae", .notice,
        "A vehicle of on-demand trips is OFFLINE: Fleet Engine offers it no new trips until a position sets it to ONLINE, after fleet-locationctl resume or online."
      )
    case .stateOfflineFailed:
      (
        "7513337d49e04268a703a6200eae8dd6", .warning,
        "The vehicle is paused or its driver off duty, and Fleet Engine has not accepted that it is OFFLINE: it may be offered trips until five minutes after its last position. OFFLINE is sent again until it is accepted, also after a restart."
      )
    case .stateOfflineMissing:
      (
        "45de781c0c714633b57ec239c232bd1e", .warning,
        "The run ended, or the settings changed to another vehicle, before Fleet Engine accepted OFFLINE. If the vehicle was paused or its driver off duty, OFFLINE is sent at the next start; otherwise let the backend set the vehicle's state."
      )
    case .clockWrong:
      (
        "8b34eb1db6a14c1d8f6fdd9422c5bb3f", .warning,
        "This machine's clock differs by half a minute or more from the time of Fleet Engine, the token provider or the receiver. Tokens, timeouts and intervals do not depend on it; the checking of certificates and the journal's own times do. Check NTP."
      )
    case .clockRight:
      ("893d861bdd79417699240581656eb7e8", .notice, "This machine's clock is right again.")
    case .receiverClock:
      (
        "9104c93bd50f4f878ff4e24460e89ebf", .warning,
        "The receiver's clock differs from that of Fleet Engine or the token provider, or its date is 1024 weeks behind (GPS week rollover), and its positions are sent with corrected times; or the clock is right again. A receiver that is 18 s ahead has not received the leap seconds yet, which takes up to 13 minutes after a cold start. If it persists, restart the receiver or update its firmware."
      )
    }
  }
}
