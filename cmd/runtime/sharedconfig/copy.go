package sharedconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ringmaster/cmd/runtime/config"
	"ringmaster/cmd/runtime/terminal"
)

// Copy is the text of a key that this machine took last, in a file.
type Copy struct{ Key, path string }

// CopyIn is the copy of a key of the bucket of a prefix, under a directory.
func CopyIn(dir, prefix, key string) Copy {
	return Copy{Key: key, path: filepath.Join(dir, "shared", prefix+"."+key+".toml")}
}

// header is the first line of the file.
const header = "# revision %d of %s\n"

// Text is what a key has, or had.
type Text struct {
	Revision uint64 // 0: nothing yet
	Of       []byte
}

// Read returns the copy, and nothing where there is none.
func (c Copy) Read() (Text, error) {
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Text{}, nil
	}
	if err != nil {
		return Text{}, err
	}
	first, text, _ := bytes.Cut(data, []byte("\n"))
	t := Text{Of: text}
	var key string
	if _, err := fmt.Sscanf(string(first)+"\n", header, &t.Revision, &key); err != nil || key != c.Key || t.Revision == 0 {
		return Text{}, fmt.Errorf("%s: the first line is not that of a copy of %s", c.path, c.Key)
	}
	return t, nil
}

// Write replaces the copy.
func (c Copy) Write(t Text) error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	return terminal.ReplaceFile(c.path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, header+"%s", t.Revision, c.Key, t.Of)
		return err
	})
}

// Source is the text as a source of settings; known are all settings, and shared those that it may have.
func (c Copy) Source(t Text, known, shared []string) (config.Source, error) {
	s := config.Source{Name: fmt.Sprintf("%s, revision %d", c.Key, t.Revision)}
	var err error
	if s.File, err = config.Parse(t.Of, known); err == nil {
		err = s.Only(shared)
	}
	if err != nil {
		return config.Source{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	return s, nil
}
