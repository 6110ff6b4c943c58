// Package searchtest has what the tests of searches share.
package searchtest
