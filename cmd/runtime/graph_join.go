package main

import (
	"fmt"
	"os"
	"path/filepath"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/userop"
	"ringmaster/telemetry"
)

// maxJoinTokens is the most tokens in the body of a join that arrives over NATS. A body of
// so many vector divisions takes a driver about a second to compile; one of 2,000 took
// minutes.
const maxJoinTokens = 256

// fitsNATS says whether a join may come over NATS.
func fitsNATS(j *userop.Join) error {
	if j.Tokens > maxJoinTokens {
		return fmt.Errorf("the body of join %s has %d names, numbers and operators; one that goes to a worker over NATS may have %d", j.Name, j.Tokens, maxJoinTokens)
	}
	return nil
}

// readJoin reads the file of a join, and refuses flags that contradict it.
func (c *graphRunCmd) readJoin() error {
	switch {
	case c.Algorithm != "join" && c.JoinFile != "":
		return fmt.Errorf("--join is for the algorithm join, not %s", c.Algorithm)
	case c.Algorithm != "join":
		return nil
	case c.JoinFile == "":
		return fmt.Errorf("join takes --join FILE, which says what travels and how it is joined; see docs/opcodes.md")
	case c.Engine != "device":
		return fmt.Errorf("a join is GLSL and runs on a device only: without --engine")
	}
	text, err := os.ReadFile(c.JoinFile)
	if err != nil {
		return err
	}
	join, err := userop.ParseJoin(filepath.Base(c.JoinFile), text)
	if err != nil {
		return err
	}
	if c.Worker != "" {
		if len(text) > telemetry.MaxJoinBytes {
			return fmt.Errorf("%s has %d bytes; a join of up to %d may go to a worker", c.JoinFile, len(text), telemetry.MaxJoinBytes)
		}
		if err := fitsNATS(&join); err != nil {
			return err
		}
	}
	c.join, c.joinText = &join, text
	return nil
}

// nothing is the value of a node at which nothing arrived.
func (c *graphRunCmd) nothing() uint32 {
	switch {
	case c.join != nil:
		return c.join.Kind.Identity()
	case c.Algorithm == "reach", c.Algorithm == "flow":
		return 0
	}
	return graph.Unreached
}

// takeJoin reads a join that arrived over NATS, and refuses a request that contradicts it.
// Its text is checked token by token, like an operator's own.
func (c *graphRunCmd) takeJoin(text []byte) error {
	switch {
	case c.Algorithm != "join" && len(text) > 0:
		return fmt.Errorf("a join is for the algorithm join, not %s", c.Algorithm)
	case c.Algorithm != "join":
		return nil
	}
	join, err := userop.ParseJoin("join", text)
	if err == nil {
		err = fitsNATS(&join)
	}
	if err != nil {
		return err
	}
	c.join = &join
	return nil
}
