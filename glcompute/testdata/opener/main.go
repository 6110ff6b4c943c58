// Command opener opens a device and names it, for the tests of what a binary
// needs to start and of what it says where something is missing.
package main

import (
	"fmt"
	"os"

	"ringmaster/glcompute"
)

func main() { os.Exit(glcompute.Main(run)) }

func run() int {
	d, _, err := glcompute.Open(glcompute.Config{
		Backend: glcompute.Backend(os.Getenv("OPENER_BACKEND")),
		Display: os.Getenv("DISPLAY"),
	})
	if err != nil {
		fmt.Println(err)
		return 3
	}
	defer d.Close()
	if err := d.SelfTest(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(d.Info())
	return 0
}
