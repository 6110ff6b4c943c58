package main

import (
	"context"
	"fmt"
	"log/slog"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/userop"
)

// opcodesCmd has the commands about opcode files.
type opcodesCmd struct {
	Check     opcodesCheckCmd     `cmd:"" help:"Check a directory of opcodes: print every error with file and line, or a table of what they declare."`
	Accessors opcodesAccessorsCmd `cmd:"" help:"Print the accessors that a body may call."`
}

type opcodesCheckCmd struct {
	option.GL
	Dir  string `arg:"" help:"Directory of *.glsl files."`
	NoGL bool   `name:"no-gl" help:"Only check the files; do not have a driver compile them."`
}

func (c *opcodesCheckCmd) Run(_ context.Context, std terminal.Stdio, log *slog.Logger) error {
	set, err := slots.LoadOpcodes(c.Dir)
	if err != nil {
		return err
	}
	compiled := "not compiled (--no-gl)"
	if !c.NoGL {
		device, err := c.Open(log)
		if err != nil {
			return fmt.Errorf("the files are in order, but no driver can compile them here (--no-gl leaves that out): %w", err)
		}
		defer device.Close()
		if err := set.Compile(device); err != nil {
			return err
		}
		compiled = "compiled by " + device.Info().Renderer
	}
	set.Table(std.Out)
	fmt.Fprintf(std.Out, "%d opcodes, %s\n", len(set.Catalog.User()), compiled)
	return nil
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
	option.Opcodes
	Name string `arg:"" help:"Name of the kernel, as kernel list, reports and logs have it."`
}

func (c *kernelPrintCmd) Run(std terminal.Stdio) error {
	if source, ok := frontier.Source(c.Name); ok {
		_, err := fmt.Fprint(std.Out, source)
		return err
	}
	opcodes, err := slots.LoadOpcodes(c.Opcodes.Dir)
	if err != nil {
		return err
	}
	k, ok := kernel.ParseKernel(c.Name)
	if !ok {
		return fmt.Errorf("there is no kernel %q; `ringmaster kernel list` shows how they are named", c.Name)
	}
	if unknown := k.Hot &^ opcodes.Catalog.All(); unknown != 0 {
		return fmt.Errorf("kernel %s: there is no opcode %d; --opcodes names the directory of your own", c.Name, unknown.Opcodes()[0])
	}
	_, err = fmt.Fprint(std.Out, opcodes.Catalog.Source(k))
	return err
}
