package program

import (
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/userop"
)

// located is a device whose compile errors name the lines of operators' files.
type located struct {
	gpu.Device
	catalog *kernel.Catalog
}

func (d located) CompileCompute(source string) (gpu.Program, error) {
	id, err := d.Device.CompileCompute(source)
	if err != nil && len(d.catalog.User()) > 0 {
		err = &locatedError{text: userop.Locate(err.Error(), d.catalog.User()), err: err}
	}
	return id, err
}

// locatedError is an error with another text.
type locatedError struct {
	text string
	err  error
}

func (e *locatedError) Error() string { return e.text }
func (e *locatedError) Unwrap() error { return e.err }
