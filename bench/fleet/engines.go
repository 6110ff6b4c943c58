package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// remembered is how many messages of an engine are known by the lengths in them.
const remembered = 4096

// engines are the schedulers of a fleet, simulated: PUB sockets that send ForwardPassMetrics as SGLang does. All
// of them listen at one address, and the n-th connection is the n-th engine's.
type engines struct {
	listener net.Listener
	list     []*engine
	sent     int // messages
}

// engine is a PUB socket.
type engine struct {
	conn    net.Conn
	name    string
	number  uint64 // of the next message
	message []byte // of which the lengths and the number change
	lengths [2]int // where they are
	at      [remembered]atomic.Int64
}

// listen waits for nobody: accept does.
func listen() (*engines, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	return &engines{listener: listener}, err
}

// accept shakes hands with the subscribers of n engines.
func (s *engines) accept(n int) error {
	greeting := "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x00NULL" + strings.Repeat("\x00", 48)
	for i := range n {
		conn, err := s.listener.Accept()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }() // until the subscriber ends
		if _, err := io.WriteString(conn, greeting+"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"); err != nil {
			return err
		}
		s.list = append(s.list, newEngine(conn, fmt.Sprintf("gpu%04d", i)))
	}
	return nil
}

// newEngine has a message of the keys and types of SGLang's class, some 420 bytes.
func newEngine(conn net.Conn, name string) *engine {
	e := &engine{conn: conn, name: name}
	var p []byte
	text := func(s string) {
		if len(s) < 32 {
			p = append(p, 0xa0|byte(len(s)))
		} else {
			p = append(p, 0xd9, byte(len(s)))
		}
		p = append(p, s...)
	}
	whole := func(key string, v uint32) (at int) {
		text(key)
		p = binary.BigEndian.AppendUint32(append(p, 0xce), v)
		return len(p) - 4
	}
	float := func(key string, v float64) {
		text(key)
		p = binary.BigEndian.AppendUint64(append(p, 0xcb), math.Float64bits(v))
	}
	p = append(p, 0x85)
	text("worker_id")
	text(name)
	text("dp_rank")
	p = append(p, 0)
	float("wall_time", .0312)
	text("scheduled_requests")
	p = append(p, 0x87)
	whole("num_prefill_requests", 2)
	whole("sum_prefill_tokens", 4096)
	float("var_prefill_length", 1<<20)
	whole("sum_prefill_kv_tokens", 512)
	whole("num_decode_requests", 17)
	whole("sum_decode_kv_tokens", 70_000)
	float("var_decode_kv_tokens", 12.5)
	text("queued_requests")
	p = append(p, 0x86)
	e.lengths[0] = whole("num_prefill_requests", 0)
	whole("sum_prefill_tokens", 1_228_800)
	float("var_prefill_length", 2.25)
	e.lengths[1] = whole("num_decode_requests", 0)
	whole("sum_decode_kv_tokens", 9000)
	float("var_decode_kv_tokens", 0)
	head := append([]byte("\x01\x00\x01\x08"), make([]byte, 8)...)
	head = binary.BigEndian.AppendUint64(append(head, 2), uint64(len(p)))
	e.lengths[0] += len(head)
	e.lengths[1] += len(head)
	e.message = append(head, p...)
	return e
}

// send sends a message with a length that none of the last ones had, in both queues.
func (e *engine) send() error {
	slot := e.number % remembered
	for _, at := range e.lengths {
		binary.BigEndian.PutUint32(e.message[at:], uint32(1000+slot))
	}
	binary.BigEndian.PutUint64(e.message[4:], e.number)
	e.number++
	e.at[slot].Store(time.Now().UnixNano())
	_, err := e.conn.Write(e.message)
	return err
}

// since is how long ago the message with a length was sent.
func (e *engine) since(length uint32, now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - e.at[(length-1000)%remembered].Load())
}

// play has the engines send by turns, so many messages a second altogether, at their times whatever becomes of them,
// and says how long it took. What is late is sent at once.
func (s *engines) play(rate float64, during time.Duration) (took time.Duration, err error) {
	begun, n := time.Now(), 0
	for ; time.Since(begun) < during; n++ {
		time.Sleep(time.Until(begun.Add(time.Duration(float64(n) / rate * float64(time.Second)))))
		if err := s.list[s.sent%len(s.list)].send(); err != nil {
			return 0, err
		}
		s.sent++
	}
	return time.Since(begun), nil
}

func (s *engines) close() {
	s.listener.Close()
	for _, e := range s.list {
		e.conn.Close()
	}
}
