// SPDX-License-Identifier: Apache-2.0

/// The properties of a service that determine its permissions and its view of the system, as named in
/// org.freedesktop.systemd1(5). A unit with copies of them sees files, devices, names and servers as the service does.
package enum ServiceProperties {
  /// Copied unchanged: user, environment, credentials, file system, devices, network, system calls, limits.
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
}
