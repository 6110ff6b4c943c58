// Package top is the live view of a fleet on a terminal: tables of queues and workers, a page for one queue, and a log
// of what went wrong; and the same as text or JSON for pipes. The screen is a value: keys and snapshots in, lines out.
package top
