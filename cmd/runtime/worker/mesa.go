package worker

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// mesaIndexBytes is the length of the table that Mesa up to version 24 keeps of its shader
// cache: a count, and 65,536 keys of 20 bytes.
const mesaIndexBytes = 8 + 1<<16*20

// ReserveMesaIndex takes the place on the disk of the table of a Mesa shader cache, before Mesa does: Mesa maps
// it, a file with holes, into its memory and writes to it there, and on a full disk that ends the process. After
// an error Mesa has to be told to keep no cache. What another process enters meanwhile may be lost, and is
// compiled again.
func ReserveMesaIndex(cache string) error {
	dir := filepath.Join(cache, "mesa_shader_cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "index"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	table := make([]byte, mesaIndexBytes)
	if _, err = io.ReadFull(f, table); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it is new, or was cut short; the rest is zeros
	}
	if err == nil {
		_, err = f.WriteAt(table, 0) // zeros that are written are no hole
	}
	return errors.Join(err, f.Close())
}
