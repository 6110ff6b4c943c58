package main

import (
	"fmt"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/kernel"
)

// kernelCmd has the commands about the sources of kernels.
type kernelCmd struct {
	List  kernelListCmd  `cmd:"" help:"Print names of kernels."`
	Print kernelPrintCmd `cmd:"" help:"Print the source of a kernel as the driver gets it."`
}

type kernelListCmd struct{}

func (c *kernelListCmd) Run(std stdio) error {
	for _, k := range kernel.Examples() {
		fmt.Fprintln(std.out, k)
	}
	for _, name := range frontier.Examples() {
		fmt.Fprintln(std.out, name)
	}
	_, err := fmt.Fprintln(std.out, "any other width, chunk and set of opcodes too: interpreter-WIDTH, lease-WIDTH, and fused- or exact-WIDTH-CHUNK-SET,\nwhere SET has a hexadecimal bit for the number of each opcode; and of graphs ALGORITHM-KIND-WIDTH")
	return err
}

type kernelPrintCmd struct {
	opcodeFlags
	Name string `arg:"" help:"Name of the kernel, as kernel list, reports and logs have it."`
}

func (c *kernelPrintCmd) Run(std stdio) error {
	if source, ok := frontier.Source(c.Name); ok {
		_, err := fmt.Fprint(std.out, source)
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
	_, err = fmt.Fprint(std.out, opcodes.catalog.Source(k))
	return err
}
