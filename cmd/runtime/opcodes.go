package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/userop"
)

// opcodeFlags name the directory of the operator's own opcodes.
type opcodeFlags struct {
	Opcodes string `placeholder:"DIR" env:"RINGMASTER_OPCODES" help:"Directory of your own opcodes, one *.glsl file each (docs/opcodes.md)."`
}

// opcodeSet is the opcodes a command works with.
type opcodeSet struct {
	dir     string // empty: the built-in ones alone
	catalog *kernel.Catalog
}

// load reads the directory. Its error names every fault as "DIR/file:line: …".
func (f *opcodeFlags) load() (*opcodeSet, error) {
	if f.Opcodes == "" {
		return &opcodeSet{catalog: kernel.BuiltIn()}, nil
	}
	if info, err := os.Stat(f.Opcodes); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("opcodes: %w", cmp.Or(err, error(&os.PathError{Op: "open", Path: f.Opcodes, Err: syscall.ENOTDIR})))
	}
	user, err := userop.LoadDir(os.DirFS(f.Opcodes))
	if err != nil {
		return nil, fmt.Errorf("opcodes of %s:\n%w", f.Opcodes, err)
	}
	catalog, err := kernel.NewCatalog(user)
	if err != nil {
		return nil, fmt.Errorf("opcodes of %s: %w", f.Opcodes, err)
	}
	return &opcodeSet{dir: f.Opcodes, catalog: catalog}, nil
}

// checkWidth is the workgroup width at which opcodes are compiled to see whether they
// can be; errors do not depend on it.
const checkWidth = 64

// compile has the driver compile the opcodes. Its error has the driver's messages, with
// the lines of the operator's files.
func (s *opcodeSet) compile(device worker.Device) error {
	user := s.catalog.User()
	if len(user) == 0 {
		return nil
	}
	source := s.catalog.Source(kernel.Kernel{Kind: kernel.Interpreter, Width: checkWidth})
	return device.Do(func() error {
		program, err := device.CompileCompute(source)
		if err != nil {
			return fmt.Errorf("opcodes of %s are refused by %s:\n%s", s.dir, device.Info().Renderer, userop.Locate(err.Error(), user))
		}
		device.DeleteProgram(program)
		return nil
	})
}

// log lists the operator's opcodes in the log.
func (s *opcodeSet) log(log *slog.Logger) {
	for _, u := range s.catalog.User() {
		log.Info("opcode", "id", u.ID, "name", u.Name, "operands", u.Operands, "file", u.File)
	}
}

// lookup finds an opcode by its name.
func (s *opcodeSet) lookup(name string) (kernel.Opcode, error) {
	if op, found := s.catalog.Lookup(name); found {
		return op, nil
	}
	var names []string
	for _, op := range s.catalog.All().Opcodes() {
		names = append(names, s.catalog.Name(op))
	}
	return 0, fmt.Errorf("there is no opcode %s; there are %s", name, strings.Join(names, ", "))
}

// operand is the place of an operand by its name, -1 if the opcode has none of that name. Built-in opcodes know the
// places themselves too, a0 to a11.
func (s *opcodeSet) operand(op kernel.Opcode, name string) int {
	if i := slices.Index(s.catalog.Operands(op), name); i >= 0 || op >= kernel.FirstUser {
		return i
	}
	return slices.Index(kernel.ArgNames[:], name)
}

// opcodesCmd has the commands about opcode files.
type opcodesCmd struct {
	Check     opcodesCheckCmd     `cmd:"" help:"Check a directory of opcodes: print every error with file and line, or a table of what they declare."`
	Accessors opcodesAccessorsCmd `cmd:"" help:"Print the accessors that a body may call."`
}

type opcodesCheckCmd struct {
	glFlags
	Dir  string `arg:"" help:"Directory of *.glsl files."`
	NoGL bool   `name:"no-gl" help:"Only check the files; do not have a driver compile them."`
}

func (c *opcodesCheckCmd) Run(_ context.Context, std terminal.Stdio, log *slog.Logger) error {
	set, err := (&opcodeFlags{Opcodes: c.Dir}).load()
	if err != nil {
		return err
	}
	compiled := "not compiled (--no-gl)"
	if !c.NoGL {
		device, err := c.open(log)
		if err != nil {
			return fmt.Errorf("the files are in order, but no driver can compile them here (--no-gl leaves that out): %w", err)
		}
		defer device.Close()
		if err := set.compile(device); err != nil {
			return err
		}
		compiled = "compiled by " + device.Info().Renderer
	}
	set.table(std.Out)
	fmt.Fprintf(std.Out, "%d opcodes, %s\n", len(set.catalog.User()), compiled)
	return nil
}

// table prints what the opcodes declare.
func (s *opcodeSet) table(out io.Writer) {
	var rows [][]string
	for _, u := range s.catalog.User() {
		steps := "-"
		if u.MaxSteps > 0 {
			steps = fmt.Sprint(u.MaxSteps)
		}
		if u.StepsOperand != userop.NoOperand {
			steps += ", at most " + u.Operands[u.StepsOperand]
		}
		rows = append(rows, []string{
			fmt.Sprint(u.ID), u.Name, orDash(strings.Join(u.Operands, ", ")),
			yesNo(u.SideEffects), yesNo(u.Idempotent), steps, orDash(u.Reference), u.File,
		})
	}
	fmt.Fprint(out, text.Table([]string{"ID", "NAME", "OPERANDS", "SIDE EFFECTS", "IDEMPOTENT", "MAX STEPS", "REFERENCE", "FILE"}, rows))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type opcodesAccessorsCmd struct{}

func (opcodesAccessorsCmd) Run(std terminal.Stdio) error {
	var rows [][]string
	for _, a := range userop.List() {
		rows = append(rows, []string{a.Form, a.Meaning})
	}
	_, err := fmt.Fprint(std.Out, text.Table([]string{"ACCESSOR", "MEANS"}, rows))
	return err
}

// kernelCmd has the commands about the sources of kernels.
type kernelCmd struct {
	List  kernelListCmd  `cmd:"" help:"Print names of kernels."`
	Print kernelPrintCmd `cmd:"" help:"Print the source of a kernel as the driver gets it."`
}

type kernelListCmd struct{}

func (c *kernelListCmd) Run(std terminal.Stdio) error {
	for _, k := range kernel.Examples() {
		fmt.Fprintln(std.Out, k)
	}
	for _, name := range frontier.Examples() {
		fmt.Fprintln(std.Out, name)
	}
	_, err := fmt.Fprintln(std.Out, "any other width, chunk and set of opcodes too: interpreter-WIDTH, lease-WIDTH, and fused- or exact-WIDTH-CHUNK-SET,\nwhere SET has a hexadecimal bit for the number of each opcode; and of graphs ALGORITHM-KIND-WIDTH")
	return err
}

type kernelPrintCmd struct {
	opcodeFlags
	Name string `arg:"" help:"Name of the kernel, as kernel list, reports and logs have it."`
}

func (c *kernelPrintCmd) Run(std terminal.Stdio) error {
	if source, ok := frontier.Source(c.Name); ok {
		_, err := fmt.Fprint(std.Out, source)
		return err
	}
	opcodes, err := c.load()
	if err != nil {
		return err
	}
	k, ok := kernel.ParseKernel(c.Name)
	if !ok {
		return fmt.Errorf("there is no kernel %q; `ringmaster kernel list` shows how they are named", c.Name)
	}
	if unknown := k.Hot &^ opcodes.catalog.All(); unknown != 0 {
		return fmt.Errorf("kernel %s: there is no opcode %d; --opcodes names the directory of your own", c.Name, unknown.Opcodes()[0])
	}
	_, err = fmt.Fprint(std.Out, opcodes.catalog.Source(k))
	return err
}
