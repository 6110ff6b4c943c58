package glcompute

import (
	"errors"
	"sync"
)

// mainThread is the one that Main serves, nil while it does not run. There is
// one main thread in a process, hence one variable.
var mainThread struct {
	sync.Mutex
	thread *Thread
}

// ErrNoMain is the reason why the glfw backend does not open in a program whose
// main function does not go through Main.
var ErrNoMain = errors.New("glcompute: glfw needs the process's main thread: call glcompute.Main from main")

// Main lends the calling thread, which must be that of the main function, to
// GLFW: it runs run in another goroutine, serves the calls that belong on the
// main thread until run returns, and returns run's result, an exit code. Only
// one Main may run at a time.
func Main(run func() int) int {
	t := newThread()
	mainThread.Lock()
	if mainThread.thread != nil {
		mainThread.Unlock()
		panic("glcompute: Main called while it runs")
	}
	mainThread.thread = t
	mainThread.Unlock()

	code := 0
	go func() {
		defer func() {
			mainThread.Lock()
			mainThread.thread = nil
			mainThread.Unlock()
			t.Close()
		}()
		code = run()
	}()
	t.loop()
	return code
}

// onMain runs fn on the main thread, or returns ErrNoMain.
func onMain(fn func() error) error {
	mainThread.Lock()
	t := mainThread.thread
	mainThread.Unlock()
	if t == nil {
		return ErrNoMain
	}
	return t.Do(fn)
}
