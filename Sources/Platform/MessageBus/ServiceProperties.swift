// SPDX-License-Identifier: Apache-2.0

/// Which properties of a service make up what a program in it may do and sees, by org.freedesktop.systemd1(5). A unit that has
/// copies of them judges files, devices, names and servers as the service does.
package enum ServiceProperties {
  /// Copied as they are: user, environment, credentials, file system, devices, network, system calls, limits.
  package static let copied: Set<String> = [
    "User", "Group", "SupplementaryGroups", "DynamicUser", "UMask", "WorkingDirectory",
    "Environment", "EnvironmentFiles", "PassEnvironment", "UnsetEnvironment", "ExecSearchPath",
    "ImportCredential", "ImportCredentialEx", "LoadCredential", "LoadCredentialEncrypted", "SetCredential",
    "SetCredentialEncrypted",
    "RootDirectory", "RootImage", "RootImageOptions", "MountImages", "ExtensionImages", "ExtensionDirectories",
    "BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "MountAPIVFS", "MountFlags",
    "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths",
    "ProtectSystem", "ProtectHome", "ProtectClock", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs",
    "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProcSubset",
    "PrivateTmp", "PrivateUsers", "PrivateMounts", "PrivateDevices", "PrivateNetwork", "PrivateIPC",
    "NetworkNamespacePath", "IPCNamespacePath",
    "RuntimeDirectory", "RuntimeDirectoryMode", "StateDirectory", "StateDirectoryMode", "CacheDirectory",
    "CacheDirectoryMode", "LogsDirectory", "LogsDirectoryMode", "ConfigurationDirectory", "ConfigurationDirectoryMode",
    "DevicePolicy", "DeviceAllow", "IPAddressAllow", "IPAddressDeny", "SocketBindAllow", "SocketBindDeny",
    "RestrictAddressFamilies", "RestrictFileSystems", "RestrictNamespaces", "RestrictNetworkInterfaces",
    "RestrictRealtime", "RestrictSUIDSGID",
    "NoNewPrivileges", "SecureBits", "CapabilityBoundingSet", "AmbientCapabilities", "KeyringMode", "LockPersonality",
    "MemoryDenyWriteExecute", "SystemCallFilter", "SystemCallArchitectures", "SystemCallErrorNumber",
    "AppArmorProfile", "SmackProcessLabel", "SELinuxContext",
    "LimitAS", "LimitASSoft", "LimitCORE", "LimitCORESoft", "LimitCPU", "LimitCPUSoft", "LimitDATA", "LimitDATASoft",
    "LimitFSIZE", "LimitFSIZESoft", "LimitMEMLOCK", "LimitMEMLOCKSoft", "LimitNOFILE", "LimitNOFILESoft", "LimitNPROC",
    "LimitNPROCSoft", "LimitSTACK", "LimitSTACKSoft",
    "MemoryHigh", "MemoryMax", "MemorySwapMax", "TasksMax", "CPUQuotaPerSecUSec", "CPUQuotaPeriodUSec",
  ]

  /// The property that a directive of a unit file sets, where the two have different names.
  package static let names = [
    "EnvironmentFile": "EnvironmentFiles", "CPUQuota": "CPUQuotaPerSecUSec",
  ]

  /// Directives of a service that have no part in what it may do: how it is started, watched and counted. `RemoveIPC` would
  /// take from the running service what is its own, and `RuntimeDirectoryPreserve` is replaced for that reason.
  package static let left: Set<String> = [
    "Type", "ExecStart", "ExecReload", "Restart", "RestartSec", "RestartPreventExitStatus", "WatchdogSec",
    "TimeoutStopSec", "RuntimeDirectoryPreserve", "RemoveIPC", "IPAccounting",
  ]
}
