package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
)

// mesaIndexBytes is the length of the table that Mesa up to version 24 keeps of its shader
// cache: a count, and 65,536 keys of 20 bytes.
const mesaIndexBytes = 8 + 1<<16*20

// mesaCache gives Mesa a directory of our own for its shader cache, unless the environment names
// one, because without a cache every start compiles all shaders again. Mesa maps its table, a file
// with holes, into its memory and writes to it there: on a full disk that kills the process. So
// the table's place on the disk is taken before; where there is none, Mesa keeps no cache.
func mesaCache(log *slog.Logger) {
	const named, off = "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"
	if os.Getenv(off) != "" {
		return
	}
	dir := os.Getenv(named)
	if dir == "" {
		dir = filepath.Join(cacheDir(), "mesa")
	}
	if err := reserveMesaIndex(dir); err != nil {
		log.Warn("Mesa's shader cache is not used; every start compiles all shaders again", "directory", dir, "error", err)
		os.Setenv(off, "true")
		return
	}
	os.Setenv(named, dir)
}

// reserveMesaIndex takes the place of the table on the disk, whatever of it is there.
func reserveMesaIndex(dir string) error {
	dir = filepath.Join(dir, "mesa_shader_cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "index"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(reserve(f, mesaIndexBytes), f.Close())
}
