//go:build !linux

package main

import "os"

// reserve takes no place: this system has no Mesa that would need it.
func reserve(*os.File, int64) error { return nil }
