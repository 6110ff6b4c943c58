// Package oversight is what others see of a process that serves: metrics and health over HTTP, and what its service
// manager is told, from its start to its end.
package oversight
