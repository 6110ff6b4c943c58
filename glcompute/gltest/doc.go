// Package gltest opens devices for tests, and says what becomes of a test whose machine lacks
// something: it is skipped, or fails if RINGMASTER_REQUIRE lists what is missing.
package gltest
