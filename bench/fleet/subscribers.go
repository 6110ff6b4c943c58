package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// slowly is how many bytes a second a slow subscriber reads.
const slowly = 1 << 20

// subscribers has a subscriber of recommendations and decisions on the bus that reads slowly, or nothing as a stopped
// process (row 26 of the attacks), by turns with none and with one that reads all. It subscribes so many times, and is
// sent everything as often, which fills what a server keeps for it within a turn.
func (f *fleet) subscribers(l *load, times, runs int) error {
	beside := func(name string, read func(net.Conn)) *company {
		return &company{name: name, play: func() error {
			conn, err := f.subscriber(times)
			if err != nil {
				return err
			}
			defer conn.Close()
			end := time.Now().Add(turn)
			_ = conn.SetReadDeadline(end) // the server may end it sooner
			read(conn)
			time.Sleep(time.Until(end))
			return nil
		}}
	}
	return l.beside(runs, &company{name: "none", play: func() error { time.Sleep(turn); return nil }},
		beside("one that reads all", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		beside("one that reads 1 MiB a second", readSlowly),
		beside("one that reads nothing", func(net.Conn) {}))
}

// subscriber is a connection to the first server, by the protocol itself: a client library would read for whoever does not.
func (f *fleet) subscriber(times int) (net.Conn, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.urls[0], "nats://"))
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("CONNECT {\"verbose\":false}\r\n")
	root := f.conn.Subjects().Root()
	for i := range times {
		fmt.Fprintf(&text, "SUB %s.recommend.> r%d\r\nSUB %s.decided.> d%d\r\n", root, i, root, i)
	}
	if _, err := io.WriteString(conn, text.String()); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func readSlowly(conn net.Conn) {
	const parts = 16 // a second
	part := make([]byte, slowly/parts)
	for {
		if _, err := io.ReadFull(conn, part); err != nil {
			return
		}
		time.Sleep(time.Second / parts)
	}
}
