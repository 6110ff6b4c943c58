package slots

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"

	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/userop"
)

// Opcodes is the opcodes that a command works with: those of the program and those of a directory.
type Opcodes struct {
	dir     string // empty: the built-in ones alone
	Catalog *kernel.Catalog
}

// LoadOpcodes reads a directory of opcodes, or none if it is "". Its error names every fault as "DIR/file:line: …".
func LoadOpcodes(dir string) (*Opcodes, error) {
	if dir == "" {
		return &Opcodes{Catalog: kernel.BuiltIn()}, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("opcodes: %w", cmp.Or(err, error(&os.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR})))
	}
	user, err := userop.LoadDir(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("opcodes of %s:\n%w", dir, err)
	}
	catalog, err := kernel.NewCatalog(user)
	if err != nil {
		return nil, fmt.Errorf("opcodes of %s: %w", dir, err)
	}
	return &Opcodes{dir: dir, Catalog: catalog}, nil
}

// checkWidth is the workgroup width at which opcodes are compiled to see whether they
// can be; errors do not depend on it.
const checkWidth = 64

// Compile has the driver compile the opcodes. Its error has the driver's messages, with
// the lines of the operator's files.
func (s *Opcodes) Compile(device worker.Device) error {
	user := s.Catalog.User()
	if len(user) == 0 {
		return nil
	}
	source := s.Catalog.Source(kernel.Kernel{Kind: kernel.Interpreter, Width: checkWidth})
	return device.Do(func() error {
		program, err := device.CompileCompute(source)
		if err != nil {
			return fmt.Errorf("opcodes of %s are refused by %s:\n%s", s.dir, device.Info().Renderer, userop.Locate(err.Error(), user))
		}
		device.DeleteProgram(program)
		return nil
	})
}

// Log lists the operator's opcodes in the log.
func (s *Opcodes) Log(log *slog.Logger) {
	for _, u := range s.Catalog.User() {
		log.Info("opcode", "id", u.ID, "name", u.Name, "operands", u.Operands, "file", u.File)
	}
}

// Lookup finds an opcode by its name.
func (s *Opcodes) Lookup(name string) (kernel.Opcode, error) {
	if op, found := s.Catalog.Lookup(name); found {
		return op, nil
	}
	var names []string
	for _, op := range s.Catalog.All().Opcodes() {
		names = append(names, s.Catalog.Name(op))
	}
	return 0, fmt.Errorf("there is no opcode %s; there are %s", name, strings.Join(names, ", "))
}

// Operand is the place of an operand by its name, -1 if the opcode has none of that name. Built-in opcodes know the
// places themselves too, a0 to a11.
func (s *Opcodes) Operand(op kernel.Opcode, name string) int {
	if i := slices.Index(s.Catalog.Operands(op), name); i >= 0 || op >= kernel.FirstUser {
		return i
	}
	return slices.Index(kernel.ArgNames[:], name)
}

// Table prints what the opcodes declare.
func (s *Opcodes) Table(out io.Writer) {
	var rows [][]string
	for _, u := range s.Catalog.User() {
		steps := "-"
		if u.MaxSteps > 0 {
			steps = fmt.Sprint(u.MaxSteps)
		}
		if u.StepsOperand != userop.NoOperand {
			steps += ", at most " + u.Operands[u.StepsOperand]
		}
		rows = append(rows, []string{
			fmt.Sprint(u.ID), u.Name, text.OrDash(strings.Join(u.Operands, ", ")),
			text.YesNo(u.SideEffects), text.YesNo(u.Idempotent), steps, text.OrDash(u.Reference), u.File,
		})
	}
	fmt.Fprint(out, text.Table([]string{"ID", "NAME", "OPERANDS", "SIDE EFFECTS", "IDEMPOTENT", "MAX STEPS", "REFERENCE", "FILE"}, rows))
}
