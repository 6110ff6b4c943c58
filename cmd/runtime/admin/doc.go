// Package admin serves what operators and their programs ask a process over HTTP: metrics, health, profiles, and
// whatever handler is mounted beside them. It reads only; nothing can be changed by it.
//
// On loopback it asks for nothing but a Host header that says loopback, so that no web page can have a browser read it
// under a name of its own. Anywhere else it asks for a bearer token or a client certificate, or refuses to start.
package admin
