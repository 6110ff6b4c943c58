// Package usage prints the command line for people, their shells and the nats command, from the parser's model of it:
// examples behind a command's help, a manual page, completion for bash, zsh and fish, and the model that the nats command
// has a plug-in's commands from. The model is the one source: what a flag is called, takes and means is said where the
// flag is declared.
package usage
