// Package systemd tells a service manager how a process is, by its notification socket: one datagram each.
package systemd
