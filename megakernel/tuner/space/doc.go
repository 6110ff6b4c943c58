// Package space describes what a tuner may choose from: the combinations of a few
// discrete parameters, of which only some are valid.
//
// A [Space] enumerates the valid configurations and numbers them from 0; every
// other type uses these numbers. A [Recording] is a space of which each
// configuration was measured beforehand, or is known to fail.
package space
