// Package option is the groups of flags that several commands have, and what each group becomes: a connection, a
// device, a plain configuration of a package that serves. It knows no command.
package option
