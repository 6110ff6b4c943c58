// Package bustest gives tests a NATS server inside their process, and connections to it. The tests of package
// natsio itself, which it imports, have their own.
package bustest
