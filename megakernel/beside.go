package megakernel

import (
	"log/slog"

	"ringmaster/megakernel/gpu"
)

// attachPrograms opens the second context beside a device and has the programs
// built there from now on. On an error nothing has changed.
func (x *executor) attachPrograms(dev gpu.Device) error {
	beside := x.openBeside(dev)
	var err error
	if x.programs == nil {
		x.programs, err = NewPrograms(dev, beside, ProgramsConfig{
			Catalog: x.catalog, Kept: x.cfg.Programs, Disk: x.cfg.Binaries, Log: x.cfg.Log,
		})
	} else {
		err = x.programs.Move(dev, beside)
	}
	if err != nil {
		closeBeside(beside)
		return err
	}
	if x.compiler != nil {
		go closeBeside(x.compiler) // the driver of a lost device may never return
	}
	x.compiler = beside
	return nil
}

// openBeside opens the second context; nil if there is none to have.
func (x *executor) openBeside(dev gpu.Device) gpu.Device {
	if x.cfg.Beside == nil {
		return nil
	}
	beside, err := x.cfg.Beside(dev)
	if err != nil {
		log := x.cfg.Log
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
