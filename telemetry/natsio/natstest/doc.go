// Package natstest starts nats-server processes for tests: alone, or three that keep streams together.
package natstest
