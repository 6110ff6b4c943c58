package megakernel

import (
	"log/slog"

	"ringmaster/megakernel/gpu"
)

// attachPrograms opens the second context beside a device and has the programs
// built there from now on. On an error nothing has changed.
func (e *Engine) attachPrograms(dev gpu.Device) error {
	beside := e.openBeside(dev)
	var err error
	if e.programs == nil {
		e.programs, err = NewPrograms(dev, beside, ProgramsConfig{
			Catalog: e.catalog, Kept: e.cfg.Programs, Disk: e.cfg.Binaries, Log: e.cfg.Log,
		})
	} else {
		err = e.programs.Move(dev, beside)
	}
	if err != nil {
		closeBeside(beside)
		return err
	}
	if e.compiler != nil {
		go closeBeside(e.compiler) // the driver of a lost device may never return
	}
	e.compiler = beside
	return nil
}

// openBeside opens the second context; nil if there is none to have.
func (e *Engine) openBeside(dev gpu.Device) gpu.Device {
	if e.cfg.Beside == nil {
		return nil
	}
	beside, err := e.cfg.Beside(dev)
	if err != nil {
		log := e.cfg.Log
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		log.Warn("megakernel: no second context to build kernels on; launches wait for the compiler", "err", err)
		return nil
	}
	return beside
}

// closeBeside closes a second context. What goes wrong there no longer matters.
func closeBeside(beside gpu.Device) {
	if c, ok := beside.(interface{ Close() error }); ok {
		_ = c.Close()
	}
}
