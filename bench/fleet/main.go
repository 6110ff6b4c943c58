// Command fleet measures what faults cost a fleet: several nats-server processes that keep the
// stream of decisions together, several processes that decide, simulated workers whose queues
// report their load, and a worker that executes batches. It kills, stops and restarts them, fills
// the disks of servers, and prints for each kind of fault how long a record waited for its decision
// and a batch for its outcome, batches that were lost or ran twice, and decisions that were made
// twice, are missing, or answer older records. docs/reliability.md has its table.
//
//	go run ./bench/fleet --workers 1000 --runs 20
//	go run ./bench/fleet --namespaces --workers 1000 --rate 1
//	go run ./bench/fleet --flood 1000 --workers 10 --rate 50 --servers 1 --deciders 1
//	go run ./bench/fleet --subscribers 64 --workers 10 --rate 50 --servers 1 --deciders 1
//	go run ./bench/fleet --steady 10s --core 1 --workers 1000 --rate 100 --servers 1 --deciders 1
//	go run ./bench/fleet --crashes 20
//	go run ./bench/fleet --adapter 10000,30000,100000 --workers 1000 --servers 1 --deciders 0
//	go run ./bench/fleet --pool 0,1
//
// The second line has faults of the network instead, the third a neighbour that floods the bus, the
// fourth a subscriber that does not read, the fifth no fault at all, to see what one core carries,
// the sixth kills a worker with a device that has batches in hand, the seventh measures what
// ringmaster adapt fpm costs and how long a message takes through it, and the last has workers with
// a device each share the work of a pool.
//
// The programs are built from the source that it runs in, unless --ringmaster and --nats-server name some.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	programs
	workers           int
	rate              float64
	servers, deciders int
	runs, flood       int
	subscribers       int
	stalls            bool
	steady            time.Duration
	batch, core       int
	apart, disks      bool
	faults            string
	crashes           int
	adapter, pool     string
}

func main() {
	var o options
	flag.StringVar(&o.ringmaster, "ringmaster", "", "a ringmaster to run, with OpenGL for faults, --crashes and --pool; built if empty")
	flag.StringVar(&o.server, "nats-server", "", "a nats-server to run; built if empty")
	flag.IntVar(&o.workers, "workers", 100, "simulated workers, of one queue each")
	flag.Float64Var(&o.rate, "rate", 10, "records of a queue a second")
	flag.IntVar(&o.servers, "servers", 3, "nats-server processes")
	flag.IntVar(&o.deciders, "deciders", 3, "processes that decide")
	flag.IntVar(&o.runs, "runs", 5, "times of each fault, a quarter of that of those that take long, or turns of a comparison")
	flag.IntVar(&o.flood, "flood", 0, "instead of faults: a neighbour that sends so many records a second, each of another queue")
	flag.IntVar(&o.subscribers, "subscribers", 0, "instead of faults: a subscriber of recommendations and decisions that subscribes so many times, and reads all, slowly or nothing")
	flag.BoolVar(&o.stalls, "stalls", false, "servers without no_fast_producer_stall, as they are unless they are told")
	flag.DurationVar(&o.steady, "steady", 0, "instead of faults: how long the load is looked at without one")
	flag.IntVar(&o.batch, "batch", 1, "records of a queue in each payload")
	flag.IntVar(&o.core, "core", -1, "a core that the deciders, or the adapter, keep to, one thread each; negative: any")
	flag.BoolVar(&o.apart, "namespaces", false, "a network namespace for each server, and faults of the network instead of those of processes (root only)")
	flag.BoolVar(&o.disks, "disks", false, "a small file system for each server, and faults of disks besides (root only)")
	flag.StringVar(&o.faults, "faults", "", "names of the faults, separated by commas; all if empty")
	flag.IntVar(&o.crashes, "crashes", 0, "instead of all that: times that a worker with a device is killed with batches in hand")
	flag.StringVar(&o.adapter, "adapter", "", "instead of all that: messages a second, separated by commas, that engines of so many workers send to ringmaster adapt fpm")
	flag.StringVar(&o.pool, "pool", "", "instead of all that: devices, separated by commas, as ringmaster run --device has them, whose workers share the work of a pool; workers share a device that is named twice")
	flag.Parse()
	mode := run
	switch {
	case o.crashes > 0:
		mode = crashes
	case o.adapter != "":
		mode = adapter
	case o.pool != "":
		mode = pools
	}
	if err := mode(o); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var bound []string
	if o.flood == 0 { // a neighbour meets the usual bound of queues
		bound = []string{"--max-queues", "100000"}
	}
	f, err := startFleet(dir, o, bound...)
	if err != nil {
		return err
	}
	defer f.close()
	l, err := startLoad(strings.Join(f.urls, ","), o.workers, o.rate, o.batch)
	if err != nil {
		return err
	}
	defer l.close()
	for begun := time.Now(); l.decided() < o.workers; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			return fmt.Errorf("after two minutes %d of %d queues have a decision; see the logs in %s", l.decided(), o.workers, keep(dir))
		}
	}
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	f.conn = conn
	stream := follow(conn)
	time.Sleep(pause)
	fmt.Println(f.machine())
	fmt.Printf("%d workers, %g records a second each, %d in a payload, %d servers, %d deciders\n", o.workers, o.rate, o.batch, o.servers, o.deciders)
	switch {
	case o.flood > 0:
		err = f.flood(l, o.flood, o.runs)
	case o.subscribers > 0:
		err = f.subscribers(l, o.subscribers, o.runs)
	case o.steady > 0:
		err = f.steady(l, o.steady)
	default:
		err = f.faults(l, stream, o)
	}
	if err != nil {
		return err
	}
	return stream.finish(l)
}
