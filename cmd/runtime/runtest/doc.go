// Package runtest has what the tests of the runtime's packages share.
package runtest
