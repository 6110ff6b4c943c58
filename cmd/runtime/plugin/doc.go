// Package plugin describes the command line to the nats command, which can have other programs as its subcommands:
// `nats plugins register ringmaster PATH` calls the program with --fisk-introspect and expects the model of its commands, as
// the library fisk (github.com/choria-io/fisk, model.go and app_plugin.go) has it, as JSON.
package plugin
