package main

import (
	"fmt"
	"os"
	"path/filepath"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/userop"
)

// readJoin reads the file of a join, and says what does not go with one.
func (c *graphRunCmd) readJoin() error {
	switch {
	case c.Algorithm != "join" && c.JoinFile != "":
		return fmt.Errorf("--join is for the algorithm join, not %s", c.Algorithm)
	case c.Algorithm != "join":
		return nil
	case c.JoinFile == "":
		return fmt.Errorf("join takes --join FILE, which says what travels and how it is joined; see docs/opcodes.md")
	case len(c.Source) == 0:
		return fmt.Errorf("join takes at least one --source")
	case c.Engine != "device":
		return fmt.Errorf("a join is GLSL and runs on a device only: without --engine")
	case c.Worker != "":
		return fmt.Errorf("a join runs on this machine's device: without --worker")
	}
	text, err := os.ReadFile(c.JoinFile)
	if err != nil {
		return err
	}
	join, err := userop.ParseJoin(filepath.Base(c.JoinFile), text)
	if err != nil {
		return err
	}
	c.join = &join
	return nil
}

// nothing is the value of a node that nothing arrived at.
func (c *graphRunCmd) nothing() uint32 {
	switch {
	case c.join != nil:
		return c.join.Kind.Identity()
	case c.Algorithm == "reach", c.Algorithm == "flow":
		return 0
	}
	return graph.Unreached
}
