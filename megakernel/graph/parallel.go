package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls fn for 0 to n-1, in any order, on all processors, and waits.
func parallel(n int, fn func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 64, n) {
		wait.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				fn(i)
			}
		})
	}
	wait.Wait()
}

// parts calls fn for parts of 0 to n-1, on all processors, and waits.
func parts(n int, fn func(first, end int)) {
	const part = 1 << 12
	parallel((n+part-1)/part, func(i int) { fn(i*part, min((i+1)*part, n)) })
}
