package option

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Opcodes names the directory of the operator's own opcodes.
type Opcodes struct {
	Dir string `name:"opcodes" placeholder:"DIR" env:"RINGMASTER_OPCODES" help:"Directory of your own opcodes, one *.glsl file each (docs/opcodes.md)."`
}

// Slots say which slots to run.
type Slots struct {
	Specs []string `name:"slots" sep:"none" placeholder:"SPEC" help:"Slots: 'OPCODE operand=VALUE … [xN]', values as for exec. May be repeated."`
	File  string   `name:"slots-file" placeholder:"FILE" help:"File with one SPEC per line, behind those of --slots; # begins a comment; - is standard input."`
}

// Read are those of the flags and then those of the file.
func (f *Slots) Read(in io.Reader) ([]string, error) {
	specs := slices.Clone(f.Specs)
	if f.File == "" {
		return specs, nil
	}
	if f.File != "-" {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, fmt.Errorf("--slots-file %s: %w", f.File, err)
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			specs = append(specs, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("--slots-file %s: %w", f.File, err)
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("--slots-file %s names no slots", f.File)
	}
	return specs, nil
}
